import type { Schemas } from "../api/client";
import type { Tint } from "../ui/layout";

/** The shares of the day quota that can be told of, in percent. */
export const thresholds = [50, 80, 100] as const;

/** The request that a form of alerts makes. An empty address is none. */
export function alertRequest(data: FormData): Schemas["AlertRequest"] {
  const url = String(data.get("webhook_url") ?? "").trim();
  return {
    thresholds: thresholds.filter((percent) => data.getAll("thresholds").includes(String(percent))),
    mail: data.has("mail"),
    webhook_url: url === "" ? null : url,
  };
}

/** Why settings tell nobody anything, if they do not. */
export function silence(s: Pick<Schemas["AlertSettings"], "thresholds" | "mail" | "webhook_url">): string {
  if (!s.mail && s.webhook_url === null) return "Nobody is told: turn on mail, or name a webhook.";
  if (s.thresholds.length === 0) return "Nobody is told: choose at least one share.";
  return "";
}

/** What a notification was about. */
export function subject(d: Pick<Schemas["AlertDelivery"], "threshold" | "day">): string {
  return d.threshold === 0 ? "Test" : `${d.threshold} % on ${d.day}`;
}

const outcomes: Record<Schemas["AlertDelivery"]["state"], { tint: Tint; text: string }> = {
  waiting: { tint: "warn", text: "on its way" },
  done: { tint: "good", text: "delivered" },
  dead: { tint: "bad", text: "given up" },
};

/** How a notification stands. One that failed before and waits for its next attempt says so. */
export function outcome(d: Pick<Schemas["AlertDelivery"], "state" | "reason">): { tint: Tint; text: string } {
  if (d.state === "waiting" && d.reason !== null) return { tint: "warn", text: "tried again later" };
  return outcomes[d.state];
}
