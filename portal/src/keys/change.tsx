import { Icon } from "../ui/icon";
import { Notice } from "../ui/layout";
import type { Reached } from "./receipt";

/** What was changed, and how far it has come. */
export interface Change {
  said: string;
  reached: Reached | undefined; // undefined while the answer is awaited
}

export function ChangeReceipt({ change: { said, reached } }: { change: Change }) {
  if (!reached) return <Notice tint="plain">{said}. Waiting for the gateway's nodes to confirm it …</Notice>;
  return (
    <Notice tint={reached.complete ? "good" : "warn"}>
      <span className="flex items-start gap-2">
        <Icon name={reached.complete ? "check" : "alert"} className="mt-1 size-4" />
        <span className="min-w-0 break-words">
          {said} {reached.text}.
        </span>
      </span>
    </Notice>
  );
}
