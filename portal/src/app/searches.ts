// What a page shows is in its address, so that it can be kept and sent to a colleague. These read it; what does not fit is
// left out.

type Search = Record<string, unknown>;

/** The fields that are texts, or numbers that the router made of texts. */
function texts<K extends string>(search: Search, names: readonly K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
    else if (typeof value === "number") found[name] = String(value);
  }
  return found;
}

/** The search with another value of one field, or without it. */
export function narrowed<S extends object>(search: S, name: keyof S, value: string | undefined): S {
  const { [name]: _, ...rest } = search;
  return (value ? { ...rest, [name]: value } : rest) as S;
}

export interface AuditSearch {
  scope?: "account" | "organization";
  actor?: string;
  operation?: string;
  kind?: string;
  target?: string;
  from?: string; // a date, in the reader's zone
  to?: string; // the last date
}

const date = /^\d{4}-\d{2}-\d{2}$/;

export function withAudit(search: Search): AuditSearch {
  const { from, to, ...rest } = texts(search, ["actor", "operation", "kind", "target", "from", "to"]);
  return {
    ...rest,
    ...(search.scope === "organization" ? { scope: "organization" } : {}),
    ...(from && date.test(from) ? { from } : {}),
    ...(to && date.test(to) ? { to } : {}),
  };
}

export interface UsageSearch {
  app?: string;
  days?: number;
  compare?: boolean; // with the time before
}

export const withUsage = (search: Search): UsageSearch => ({
  ...texts(search, ["app"]),
  ...(typeof search.days === "number" ? { days: search.days } : {}),
  ...(search.compare === true ? { compare: true } : {}),
});

export interface LogSearch {
  app?: string;
  key?: string;
  status?: "2xx" | "4xx" | "5xx";
  model?: string;
  from?: string; // a date, in the reader's zone
  to?: string; // the last date
}

const classes = ["2xx", "4xx", "5xx"] as const;

export function withLog(search: Search): LogSearch {
  const { from, to, ...rest } = texts(search, ["app", "key", "model", "from", "to"]);
  const status = classes.find((c) => c === search.status);
  return {
    ...rest,
    ...(status ? { status } : {}),
    ...(from && date.test(from) ? { from } : {}),
    ...(to && date.test(to) ? { to } : {}),
  };
}
