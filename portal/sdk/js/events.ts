import { ModelgateError } from "./failure.js";

/** One event of an event stream. */
export interface SSE {
  event: string; // "message" unless the stream names it
  data: string;
}

// One event with a large image in it fits; a stream that never ends a line does not fill the memory.
const eventCharsMax = 256 * 1024 * 1024;

/**
 * Reads an event stream as the HTML standard has it: lines end with LF, CR or CRLF, several data lines are joined with LF, lines
 * that begin with a colon are comments. `alive` is called for every piece of bytes, comments included.
 */
export async function* readSSE(
  body: ReadableStream<Uint8Array>,
  alive: () => void = () => {},
): AsyncGenerator<SSE> {
  const reader = body.getReader();
  const decoder = new TextDecoder(); // keeps the bytes of a character that was cut
  let parts: string[] = []; // of a line that has not ended
  let size = 0;
  let afterCR = false;
  let event = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // an event without its empty line is not one
      alive();
      let text = decoder.decode(value, { stream: true });
      if (afterCR && text.startsWith("\n")) text = text.slice(1);
      if (text) afterCR = text.endsWith("\r");
      const lines = text.split(/\r\n|\n|\r/);
      for (let i = 0; i < lines.length; i++) {
        const piece = lines[i] ?? "";
        parts.push(piece);
        size += piece.length;
        if (size > eventCharsMax)
          throw new ModelgateError("An event of the stream is too large.", { status: 502 });
        if (i === lines.length - 1) break;
        const line = parts.length === 1 ? piece : parts.join("");
        parts = [];
        if (line === "") {
          if (data.length > 0) yield { event: event || "message", data: data.join("\n") };
          event = "";
          data = [];
          size = 0;
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const content = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") data.push(content);
        else if (field === "event") event = content;
        else size -= line.length; // a comment, or a field that means nothing here
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** What a stream is made with. */
export interface StreamSource<T> {
  response: Response;
  /** Makes an event of a payload. */
  read: (payload: string) => T;
  /** Ends the connection. */
  abort: (reason: unknown) => void;
  /** The caller's signal: its reason is thrown when it fires. */
  signal: AbortSignal | undefined;
  /** Milliseconds without a byte after which the stream counts as broken off. */
  silenceMs: number;
}

/**
 * The events of a streamed answer, in a `for await` loop, once. The loop ends by itself only when the stream came to its end
 * (`[DONE]`). It throws a ModelgateError when the gateway reports a failure in the stream, or when the stream breaks off or
 * falls silent. Leaving the loop ends the call: the model stops.
 */
export class EventStream<T> implements AsyncIterable<T> {
  readonly requestID: string | null;
  /** What answers, as in X-Modelgate-Backend: "upstream", "simulator" and so on. */
  readonly backend: string | null;
  private begun = false;

  constructor(private readonly source: StreamSource<T>) {
    this.requestID = source.response.headers.get("X-Request-Id");
    this.backend = source.response.headers.get("X-Modelgate-Backend");
  }

  /** Ends the call. A loop over the stream throws an AbortError. */
  abort(): void {
    this.source.abort(new DOMException("The stream was aborted.", "AbortError"));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    if (this.begun) throw new TypeError("A stream can be read once.");
    this.begun = true;
    const { response, read, abort, signal, silenceMs } = this.source;
    if (!response.body) throw this.broke("The answer has no body.");
    let silence: ReturnType<typeof setTimeout> | undefined;
    let silent = false;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => {
        silent = true;
        abort(new Error("silent"));
      }, silenceMs);
    };
    alive();
    let whole = false;
    try {
      for await (const { event, data } of readSSE(response.body, alive)) {
        if (data === "[DONE]") {
          whole = true;
          return;
        }
        const failure = failureIn(event, data, this.requestID);
        if (failure) throw failure;
        yield read(data);
      }
      throw this.broke("The stream broke off before its end.");
    } catch (thrown) {
      if (thrown instanceof ModelgateError) throw thrown;
      if (silent) throw this.broke(`The stream was silent for ${silenceMs / 1000} s.`);
      if (signal?.aborted) throw signal.reason;
      if (thrown instanceof DOMException && thrown.name === "AbortError") throw thrown;
      throw this.broke("The stream broke off before its end.", thrown);
    } finally {
      clearTimeout(silence);
      if (!whole) abort(new DOMException("The stream was left.", "AbortError"));
    }
  }

  private broke(detail: string, cause?: unknown): ModelgateError {
    return new ModelgateError(detail, { status: 502, requestID: this.requestID, cause });
  }
}

// Deep search, whose payloads are plain text, names its error events; OpenAI's form has an object `error`.
function failureIn(event: string, data: string, requestID: string | null): ModelgateError | undefined {
  if (event !== "error" && !data.startsWith("{")) return undefined;
  if (event !== "error" && !data.includes('"error"')) return undefined;
  let body: { type?: string; status?: number; detail?: string; error?: { message?: string } };
  try {
    body = JSON.parse(data);
  } catch {
    return event === "error" ? new ModelgateError(data, { status: 502, requestID }) : undefined;
  }
  if (event === "error" || body.type === "error")
    return new ModelgateError(body.detail ?? "The stream failed.", { status: body.status ?? 502, requestID });
  if (typeof body.error?.message === "string")
    return new ModelgateError(body.error.message, { status: 502, requestID });
  return undefined;
}
