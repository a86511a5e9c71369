import { EventStream } from "./events.js";
import { ModelgateError, refusal } from "./failure.js";

/** An API key, a Darwin token or a stream token; or what gets one, asked before every attempt and again after a 401. */
export type Credential = string | ((renew: boolean) => string | Promise<string>);

export interface Options {
  /** Absent only for what needs no key. */
  apiKey?: Credential;
  /** Address of the gateway, without a path: `https://gateway.example.com`. */
  baseURL: string;
  /** Most repetitions of a call that failed before the first byte of its answer. */
  maxRetries?: number;
  /** The longest wait, in milliseconds, before a repetition; when the gateway asks for more, its refusal is thrown at once. */
  maxRetryWaitMs?: number;
  /** Milliseconds until the head of an answer must be there, for each attempt. */
  timeoutMs?: number;
  /** Milliseconds without a byte after which a stream counts as broken off. The gateway sends comments more often. */
  silenceMs?: number;
  /** In place of the platform's fetch. */
  fetch?: typeof fetch;
}

/** Of one call. */
export interface CallOptions {
  /** Ends the call, its waits and its stream. */
  signal?: AbortSignal | undefined;
  maxRetries?: number;
  timeoutMs?: number;
  headers?: Record<string, string>;
}

export interface Call {
  method: string;
  path: string;
  /** Sent as JSON, unless it is a form. */
  body?: unknown;
  /** Whether a repetition does nothing that the call alone would not have done. */
  repeatable: boolean;
  options?: CallOptions | undefined;
}

const retryBaseMs = 500;
const retryCapMs = 8_000;

/** Makes calls, with repetitions. Holds no state but its settings. */
export class Transport {
  constructor(private readonly o: Options) {
    if (!/^https?:\/\//.test(o.baseURL))
      throw new TypeError(`baseURL must be an http address, not "${o.baseURL}"`);
  }

  async json<T>(call: Call): Promise<T> {
    const { response } = await this.send(call);
    try {
      return (await response.json()) as T;
    } catch (thrown) {
      if (call.options?.signal?.aborted) throw call.options.signal.reason;
      const requestID = response.headers.get("X-Request-Id");
      throw new ModelgateError("The answer broke off.", { status: 502, requestID, cause: thrown });
    }
  }

  async stream<T>(call: Call, read: (payload: string) => T): Promise<EventStream<T>> {
    const { response, abort } = await this.send(call);
    const media = response.headers.get("Content-Type") ?? "";
    if (!media.startsWith("text/event-stream")) {
      abort(new Error("no stream"));
      throw new ModelgateError(`The answer is no event stream but ${media || "of no kind"}.`, {
        status: 502,
        requestID: response.headers.get("X-Request-Id"),
      });
    }
    const signal = call.options?.signal;
    return new EventStream({ response, read, abort, signal, silenceMs: this.o.silenceMs ?? 60_000 });
  }

  // Repeats while nothing of an answer has come. A refusal that the gateway makes before it asks a model (429, 503) is always
  // safe to repeat; what may have reached a model is repeated only when the call says that it can be.
  private async send(call: Call): Promise<{ response: Response; abort: (reason: unknown) => void }> {
    const most = call.options?.maxRetries ?? this.o.maxRetries ?? 2;
    let renewed = false;
    for (let attempt = 0; ; attempt++) {
      let failure: ModelgateError;
      try {
        const sent = await this.attempt(call, renewed);
        if (sent.response.ok) return sent;
        failure = await refusal(sent.response);
      } catch (thrown) {
        if (!(thrown instanceof ModelgateError)) throw thrown;
        failure = thrown;
      }
      if (failure.status === 401 && typeof this.o.apiKey === "function" && !renewed) {
        renewed = true;
        continue;
      }
      const again =
        failure.status === 429 ||
        failure.status === 503 ||
        (call.repeatable && [0, 502, 504].includes(failure.status));
      const waitMs = this.waitMs(failure, attempt);
      if (!again || attempt >= most || waitMs > (this.o.maxRetryWaitMs ?? 30_000)) throw failure;
      await pause(waitMs, call.options?.signal);
    }
  }

  // What the gateway says, and a little more so that many clients do not return at the same instant; otherwise a random part of
  // a bound that doubles ("full jitter").
  private waitMs(failure: ModelgateError, attempt: number): number {
    if (failure.retryAfterSeconds !== null) return failure.retryAfterSeconds * 1000 + Math.random() * 250;
    return Math.random() * Math.min(retryCapMs, retryBaseMs * 2 ** attempt);
  }

  private async attempt(
    call: Call,
    renew: boolean,
  ): Promise<{ response: Response; abort: (reason: unknown) => void }> {
    const { signal, timeoutMs = this.o.timeoutMs ?? 600_000 } = call.options ?? {};
    signal?.throwIfAborted();
    const headers = new Headers(call.options?.headers);
    headers.set("Accept", "application/json, text/event-stream");
    const key = typeof this.o.apiKey === "function" ? await this.o.apiKey(renew) : this.o.apiKey;
    if (key) headers.set("Authorization", `Bearer ${key}`);
    const form = call.body instanceof FormData;
    if (call.body !== undefined && !form) headers.set("Content-Type", "application/json");
    const controller = new AbortController();
    const abort = (reason: unknown) => controller.abort(reason);
    const aborted = () => abort(signal?.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      abort(new Error("late"));
    }, timeoutMs);
    try {
      const response = await (this.o.fetch ?? fetch)(this.o.baseURL.replace(/\/+$/, "") + call.path, {
        method: call.method,
        headers,
        signal: controller.signal,
        ...(call.body === undefined
          ? {}
          : { body: form ? (call.body as FormData) : JSON.stringify(call.body) }),
      });
      return { response, abort };
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      const what = late ? `did not answer within ${timeoutMs / 1000} s` : "did not answer";
      throw new ModelgateError(`The gateway at ${this.o.baseURL} ${what}.`, { status: 0, cause: thrown });
    } finally {
      clearTimeout(timer);
    }
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
