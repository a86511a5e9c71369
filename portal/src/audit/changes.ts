/** One field that a record is about, as it was and as it is. */
export interface Change {
  field: string;
  before: string | undefined; // undefined: it was not there
  after: string | undefined; // undefined: it is not there any more
}

type Fields = Readonly<Record<string, unknown>> | null;

const say = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** The fields in which two states differ, and for one that came or went all of it. Lists and objects are compared as wholes. */
export function changes(before: Fields, after: Fields): Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .map((field) => ({
      field,
      before: before && field in before ? say(before[field]) : undefined,
      after: after && field in after ? say(after[field]) : undefined,
    }))
    .filter((c) => c.before !== c.after);
}

/** An operation id as people say it: revokeKey becomes "revoke key". */
export const operationName = (id: string): string =>
  id
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_.-]+/g, " ")
    .toLowerCase();
