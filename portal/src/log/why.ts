import type { Call } from "./merge";

const ends: Record<string, string> = {
  client_gone: "The caller left before the answer was whole. What was sent is counted.",
  revoked: "The key was revoked while the answer was on its way.",
  upstream_cut:
    "The model's server broke off after the answer had begun. The stream ended with an error event.",
  deadline: "The answer took longer than a call may take.",
  drained: "The node was shut down, and the stream took longer than it waits for that.",
};

const statuses: Record<number, string> = {
  400: "The body was not as the operation wants it. The answer's detail says where.",
  403: "The scope of the app does not allow this family, task or model.",
  404: "There is no such model, task or skill. The list of models says what the key may use.",
  413: "The body was larger than this operation takes.",
  422: "A field of the body was missing or out of its bounds. The answer's detail names it.",
  429: "A limit was used up: the minute of the key, the minute of its app, the account's day, or the calls at one time. The answer's Retry-After says when to try again. A call that is refused costs nothing of the day.",
  502: "The model's server failed or answered nonsense. The same call may work a moment later.",
  503: "The model had no room, or is not configured here. The answer's Retry-After says when to try again.",
  504: "The model did not answer in time.",
};

/** Why a call ended as it did, for its developer; undefined for one that was answered as it should be. */
export function why(call: Pick<Call, "status" | "end">): string | undefined {
  return call.status < 400 ? ends[call.end] : (statuses[call.status] ?? ends[call.end]);
}
