import { readSSE } from "../../sdk/js/events";

/** One event of an agent stream, as the contract shapes it. Anything but text comes as one event with the whole answer. */
export type StreamEvent =
  | { type: "delta"; text: string }
  | { type: "error"; status: number; detail: string }
  | { type: "done" }
  | { type: "answer"; answer: Record<string, unknown> };

/** Turns the bytes of an SSE answer into events; [DONE] becomes {type: "done"}. With text the payloads are text, as a deep search's. */
export async function* events(body: ReadableStream<Uint8Array>, text = false): AsyncGenerator<StreamEvent> {
  for await (const { event, data } of readSSE(body)) {
    if (data === "[DONE]") yield { type: "done" };
    else if (text && event !== "error") yield { type: "delta", text: data };
    else yield parse(data);
  }
}

function parse(payload: string): StreamEvent {
  const event = JSON.parse(payload) as { type: string };
  if (event.type === "delta" || event.type === "error") return event as StreamEvent;
  return { type: "answer", answer: { ...event } };
}
