import { Failure } from "../api/failure";
import { emptyPassage, extend, type Passage } from "./passage";
import { events } from "./sse";

/** An answer as far as it has come. */
export interface Answer {
  passage: Passage;
  media: Record<string, unknown> | undefined; // an answer that is not text
  pieces: number; // events with text
  firstMs: number | null; // from the call to the first event
  tookMs: number;
  /** The gateway says that a simulator answered, not a model. */
  simulated: boolean;
  requestID: string | null;
  state: "waiting" | "streaming" | "done" | "stopped" | "failed";
  failure: Failure | undefined;
}

const blank: Answer = {
  passage: emptyPassage,
  media: undefined,
  pieces: 0,
  firstMs: null,
  tookMs: 0,
  simulated: false,
  requestID: null,
  state: "waiting",
  failure: undefined,
};

/**
 * Makes a call and shows its answer as it grows; with text its events hold text and no JSON. What arrives between two frames of the screen is shown together, so that a fast
 * stream costs no more than a slow one.
 */
export async function streamAnswer(
  call: () => Promise<Response>,
  signal: AbortSignal,
  show: (answer: Answer) => void,
  text = false,
): Promise<Answer> {
  const begun = performance.now();
  let answer = blank;
  let pending = "";
  let frame: number | undefined;
  const change = (part: Partial<Answer>) => {
    answer = { ...answer, ...part, tookMs: performance.now() - begun };
  };
  const flush = () => {
    if (frame !== undefined) cancelAnimationFrame(frame);
    frame = undefined;
    change({ passage: extend(answer.passage, pending) });
    pending = "";
    show(answer);
  };
  const later = () => {
    // A tab in the background gets no frames; its text waits until it is looked at.
    frame ??= requestAnimationFrame(flush);
  };
  flush();
  try {
    const response = await call();
    change({
      simulated: response.headers.get("X-Modelgate-Backend") === "simulator",
      requestID: response.headers.get("X-Request-Id"),
    });
    if (!response.body) throw new Failure(0, "The answer has no body.");
    let whole = false;
    for await (const event of events(response.body, text)) {
      if (event.type === "done") whole = true;
      else if (event.type === "error") throw new Failure(event.status, event.detail, [], answer.requestID);
      else {
        if (answer.firstMs === null) change({ firstMs: performance.now() - begun, state: "streaming" });
        if (event.type === "delta") {
          pending += event.text;
          change({ pieces: answer.pieces + 1 });
        } else change({ media: event.answer });
        later();
      }
    }
    if (!whole) throw new Failure(502, "The stream broke off before its end.", [], answer.requestID);
    change({ state: "done" });
  } catch (thrown) {
    if (signal.aborted) change({ state: "stopped" });
    else
      change({
        state: "failed",
        failure:
          thrown instanceof Failure
            ? thrown
            : new Failure(0, "The connection to the gateway broke off.", [], answer.requestID),
      });
  }
  flush();
  return answer;
}

/** Tokens a second after the first one; every event is taken for a token, as the gateway's own count does without a better one. */
export function rate(answer: Answer): number | null {
  if (answer.firstMs === null || answer.pieces < 2) return null;
  const ms = answer.tookMs - answer.firstMs;
  return ms > 0 ? ((answer.pieces - 1) / ms) * 1000 : null;
}
