import type { ReactNode } from "react";
import { useEffect } from "react";
import type { Failure } from "../api/failure";
import { Button } from "./button";
import { Icon, type IconName } from "./icon";

/** Names the page in the tab and at its top. */
export function PageHead({
  title,
  about,
  children,
}: {
  title: string;
  about?: ReactNode;
  children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Modelgate`;
  }, [title]);
  return (
    <div className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="text-2xl font-semibold tracking-tight break-words">{title}</h1>
        {about && <p className="mt-1 max-w-2xl text-muted">{about}</p>}
      </div>
      {children && <div className="flex flex-wrap gap-2">{children}</div>}
    </div>
  );
}

export function Card({
  title,
  about,
  actions,
  children,
  className = "",
}: {
  title?: string;
  about?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
  className?: string;
}) {
  return (
    <section className={`card min-w-0 p-4 sm:p-5 ${className}`} {...(title ? { "aria-label": title } : {})}>
      {(title || actions) && (
        <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
          <div className="min-w-0">
            {title && <h2 className="text-base font-semibold">{title}</h2>}
            {about && <p className="text-sm text-muted">{about}</p>}
          </div>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

const tints = {
  plain: "bg-line text-muted",
  accent: "bg-wash text-accent",
  good: "bg-good-wash text-good",
  warn: "bg-warn-wash text-warn",
  bad: "bg-bad-wash text-bad",
};

export type Tint = keyof typeof tints;

export function Tag({ tint = "plain", children }: { tint?: Tint; children: ReactNode }) {
  return (
    <span className={`inline-block rounded-md px-2 py-0.5 text-xs font-medium ${tints[tint]}`}>
      {children}
    </span>
  );
}

/** A line that must be read. */
export function Notice({ tint, children }: { tint: Tint; children: ReactNode }) {
  return (
    <div role={tint === "bad" ? "alert" : "status"} className={`rounded-lg px-4 py-3 ${tints[tint]}`}>
      {children}
    </div>
  );
}

/** What a list says when it has nothing, and how to begin. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-xl border border-dashed border-edge px-6 py-10 text-center">
      <span className="rounded-full bg-wash p-3 text-accent">
        <Icon name={icon} className="size-6" />
      </span>
      <p className="font-semibold">{title}</p>
      {children && <div className="max-w-md text-muted">{children}</div>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}

/** Stands where content will be, in about its size. */
export function Skeleton({ lines = 3, className = "" }: { lines?: number; className?: string }) {
  return (
    <div role="status" aria-label="Loading" className={`flex flex-col gap-3 ${className}`}>
      {Array.from({ length: lines }, (_, i) => i).map((i) => (
        <div
          key={i}
          className={`h-5 animate-shimmer rounded-md bg-line ${i % 3 === 2 ? "w-1/2" : i % 3 === 1 ? "w-5/6" : "w-full"}`}
        />
      ))}
    </div>
  );
}

/** What a part of a page says when its call failed. */
export function Failed({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  return (
    <div role="alert" className="rounded-xl border border-bad bg-bad-wash px-4 py-3">
      <p className="flex gap-2 font-medium text-bad">
        <Icon name="alert" className="mt-1 size-4" />
        {failure.message}
      </p>
      <p className="mt-1 text-sm text-muted">
        {failure.status > 0 && `Status ${failure.status}. `}
        {failure.requestID && (
          <>
            Request <code className="font-mono">{failure.requestID}</code>
          </>
        )}
      </p>
      {onRetry && (
        <Button className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A table that scrolls by itself on narrow screens; the keyboard can scroll it too. */
export function Table({ label, head, children }: { label: string; head: string[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section aria-label={label} tabIndex={0} className="relative overflow-x-auto">
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line text-sm text-muted">
            {head.map((h) => (
              <th key={h} scope="col" className="py-2 pr-4 font-medium whitespace-nowrap">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="[&_td]:border-b [&_td]:border-line [&_td]:py-2 [&_td]:pr-4 [&_td]:align-middle">
          {children}
        </tbody>
      </table>
    </section>
  );
}
