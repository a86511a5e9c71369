import type { ReactNode } from "react";

/** A list whose entries are a line on wide screens and a block on narrow ones: what it is to the left, what can be done to the right. */
export function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul aria-label={label} className="divide-y divide-line">
      {children}
    </ul>
  );
}

interface RowProps {
  children: ReactNode;
  actions?: ReactNode;
  beside?: boolean; // the actions are small enough to stay beside the rest on a phone
}

export function Row({ children, actions, beside = false }: RowProps) {
  return (
    <li
      className={`flex ${beside ? "" : "flex-wrap"} items-center justify-between gap-x-6 gap-y-3 py-3 first:pt-0 last:pb-0`}
    >
      <div className={`min-w-0 grow ${beside ? "" : "basis-56"}`}>{children}</div>
      {actions && (
        <div className={`flex flex-wrap items-center gap-2 ${beside ? "" : "max-sm:w-full"}`}>{actions}</div>
      )}
    </li>
  );
}
