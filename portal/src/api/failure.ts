/** One violation of a 422. */
export interface Violation {
  loc: (string | number)[];
  msg: string;
}

/** A call that was refused or got no answer. Its message is meant for people: the `detail` of the API. */
export class Failure extends Error {
  constructor(
    /** The HTTP status; 0 when there was no answer. */
    readonly status: number,
    message: string,
    readonly violations: Violation[] = [],
    readonly requestID: string | null = null,
    /** Seconds to wait, when the API says so. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }

  /** What is wrong with a field of the body. */
  of(field: string): string | undefined {
    return this.violations.find((v) => v.loc[v.loc.length - 1] === field)?.msg;
  }
}

export const noAnswer = "The service did not answer. Check the connection and try again.";

/** Reads the failure out of an answer's body. */
export function failureOf(response: Response, body: unknown): Failure {
  const detail = (body as { detail?: unknown } | undefined)?.detail;
  const requestID = response.headers.get("X-Request-Id");
  const wait = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const retryAfter = Number.isFinite(wait) ? wait : null;
  if (typeof detail === "string") return new Failure(response.status, detail, [], requestID, retryAfter);
  if (Array.isArray(detail)) {
    const violations = detail as Violation[];
    const text = violations.map((v) => `${v.loc.slice(1).join(".") || "body"}: ${v.msg}`).join("; ");
    return new Failure(response.status, text, violations, requestID, retryAfter);
  }
  return new Failure(response.status, `The service answered ${response.status}.`, [], requestID, retryAfter);
}

/** Whatever was thrown, as a failure. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof TypeError) return new Failure(0, noAnswer);
  return new Failure(0, thrown instanceof Error ? thrown.message : String(thrown));
}
