/** One event of an agent stream, as the contract shapes it. */
export type StreamEvent =
  | { type: "delta"; text: string }
  | { type: "error"; status: number; detail: string }
  | { type: "done" };

/** Turns the bytes of an SSE answer into events. Comment lines are keep-alives; [DONE] becomes {type: "done"}. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = parse(line.replace(/\r$/, ""));
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parse(line: string): StreamEvent | undefined {
  if (!line.startsWith("data:")) return undefined;
  const payload = line.slice(5).trim();
  if (payload === "[DONE]") return { type: "done" };
  const event = JSON.parse(payload) as StreamEvent;
  return event.type === "delta" || event.type === "error" ? event : undefined;
}
