import { Link } from "@tanstack/react-router";
import { duration, number } from "../format/number";
import { Clock } from "../format/time";
import { buttonClass } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Notice } from "../ui/layout";
import type { Call } from "./merge";
import { why } from "./why";

const sources: Record<string, string> = {
  provider: "by the model's server",
  counted: "by the gateway, from the stream",
  estimated: "estimated by the gateway",
  none: "none were used",
};

/** Everything that is kept of a call, and why it ended as it did. */
export function CallDetails({ call: c, appID, onClose }: { call: Call; appID: string; onClose: () => void }) {
  const reason = why(c);
  const facts: [string, React.ReactNode][] = [
    ["Request id", <code key="id">{c.id}</code>],
    ["When", <Clock key="at" at={c.at} />],
    ["Operation", c.endpoint],
    ["Model", c.model || "none that is known"],
    ["Task", c.task || "none was named"],
    ["Key", c.hint ?? "deleted since"],
    ["Status", String(c.status)],
    ["Ended", c.end.replaceAll("_", " ")],
    ["First token", c.ttft_ms === null ? "was not streamed" : `after ${duration(c.ttft_ms)}`],
    ["Took", duration(c.took_ms)],
    ["Tokens", `${number(c.tokens_in)} in, ${number(c.tokens_out)} out`],
    ["Counted", sources[c.source] ?? c.source],
  ];
  return (
    <Dialog title="A call" onClose={onClose}>
      <div className="flex flex-col gap-4">
        {reason && <Notice tint={c.status >= 500 ? "bad" : "warn"}>{reason}</Notice>}
        {c.status === 429 && (
          <Link to="/limits" search={{ app: appID, key: c.key_id }} className={buttonClass("primary")}>
            See what is left of the limits now
          </Link>
        )}
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-muted">{name}</dt>
              <dd className="min-w-0 wrap-anywhere">{value}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
