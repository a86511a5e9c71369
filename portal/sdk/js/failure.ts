/** One violation of a 422. */
export interface Violation {
  type: string;
  loc: (string | number)[];
  msg: string;
}

interface Facts {
  status: number;
  requestID?: string | null;
  violations?: Violation[];
  retryAfterSeconds?: number | null;
  cause?: unknown;
}

/**
 * A call that was refused, got no answer, or whose stream failed. `message` is the API's own `detail`: a plain sentence that
 * says what to do. A call that the caller aborted throws the signal's reason instead.
 */
export class ModelgateError extends Error {
  override readonly name = "ModelgateError";
  /** The HTTP status, also of a stream that failed after its 200; 0 when there was no answer. */
  readonly status: number;
  /** Finds the call in the gateway's logs. */
  readonly requestID: string | null;
  /** What a 422 found, one item a field. */
  readonly violations: Violation[];
  /** Seconds until a repetition can succeed, when the gateway says so. */
  readonly retryAfterSeconds: number | null;

  constructor(detail: string, facts: Facts) {
    super(detail, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.requestID = facts.requestID ?? null;
    this.violations = facts.violations ?? [];
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }
}

/** Reads Retry-After, in seconds or as a date. */
export function retryAfterSeconds(response: Response, now: number): number | null {
  const text = response.headers.get("Retry-After");
  if (!text) return null;
  const seconds = /^\s*\d+\s*$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

/** Reads the refusal out of an answer, in the gateway's form or in OpenAI's. */
export async function refusal(response: Response): Promise<ModelgateError> {
  const body = (await response.json().catch(() => undefined)) as
    | { detail?: unknown; error?: { message?: unknown } }
    | undefined;
  const facts: Facts = {
    status: response.status,
    requestID: response.headers.get("X-Request-Id"),
    retryAfterSeconds: retryAfterSeconds(response, Date.now()),
  };
  if (typeof body?.detail === "string") return new ModelgateError(body.detail, facts);
  if (Array.isArray(body?.detail)) {
    const violations = body.detail as Violation[];
    const detail = violations.map((v) => `${v.loc.slice(1).join(".") || "body"}: ${v.msg}`).join("; ");
    return new ModelgateError(detail, { ...facts, violations });
  }
  if (typeof body?.error?.message === "string") return new ModelgateError(body.error.message, facts);
  return new ModelgateError(`The gateway answered ${response.status}.`, facts);
}
