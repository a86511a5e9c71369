/** The parts of the OpenAPI document that the explorer reads. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  default?: unknown;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
}

export interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  example?: unknown;
}

interface RawOperation {
  operationId: string;
  "x-plane": "control" | "data";
  "x-status"?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { $ref?: string; content?: Record<string, Media> };
  responses?: Record<string, { $ref?: string; description?: string }>;
}

export interface Document {
  paths: Record<string, Record<string, RawOperation>>;
  components?: unknown;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  plane: "control" | "data";
  planned: boolean;
  tag: string;
  summary: string;
  description: string;
  needsKey: boolean;
  parameters: Parameter[];
  body: { example: string; schema: Schema | undefined } | undefined;
  /** The body is a form with a file, which is not tried here. */
  form: boolean;
  answers: { status: string; about: string }[];
}

/** What a reference names; anything else is itself. */
export function resolve<T extends { $ref?: string }>(document: Document, value: T): T {
  if (!value.$ref?.startsWith("#/")) return value;
  let found: unknown = document;
  for (const part of value.$ref.slice(2).split("/"))
    found = (found as Record<string, unknown> | undefined)?.[part];
  return (found as T | undefined) ?? value;
}

const methods = ["get", "post", "put", "delete"];

/** The operations in the order of the document. */
export function operations(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const raw = item[method];
      return raw ? [operation(document, method, path, raw)] : [];
    }),
  );
}

function operation(document: Document, method: string, path: string, raw: RawOperation): Operation {
  const content = raw.requestBody ? (resolve(document, raw.requestBody).content ?? {}) : {};
  const json = content["application/json"];
  const example = json?.example ?? Object.values(json?.examples ?? {})[0]?.value;
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    plane: raw["x-plane"],
    planned: raw["x-status"] === "planned",
    tag: raw.tags?.[0] ?? "other",
    summary: raw.summary ?? raw.operationId,
    description: raw.description ?? "",
    needsKey: (raw.security ?? []).length > 0,
    parameters: (raw.parameters ?? []).map((p) => resolve(document, p)),
    body: json ? { example: JSON.stringify(example ?? {}, null, 2), schema: json.schema } : undefined,
    form: !json && Object.keys(content).length > 0,
    answers: Object.entries(raw.responses ?? {}).map(([status, r]) => ({
      status,
      about: resolve(document, r).description ?? "",
    })),
  };
}

/** The address of a call, with what was given for its parameters. Empty optional ones are left out. */
export function target(base: string, op: Operation, given: Record<string, string>): string {
  let path = op.path;
  const query = new URLSearchParams();
  for (const p of op.parameters) {
    const value = given[p.name] ?? "";
    if (p.in === "path") path = path.replace(`{${p.name}}`, encodeURIComponent(value));
    if (p.in === "query" && (value || p.required)) query.set(p.name, value);
  }
  const text = query.toString();
  return base + path + (text ? `?${text}` : "");
}

export interface Member {
  name: string;
  type: string;
  required: boolean;
  about: string;
}

/** The members of an object's schema, those of its parts included. */
export function members(document: Document, schema: Schema | undefined): Member[] {
  if (!schema) return [];
  const s = resolve(document, schema);
  const parts = (s.allOf ?? []).flatMap((part) => members(document, part));
  const own = Object.entries(s.properties ?? {}).map(([name, raw]) => {
    const p = resolve(document, raw);
    const choice = p.enum ? p.enum.map(String).join(" | ") : "";
    const fallback = raw.default ?? p.default;
    return {
      name,
      type: choice || [p.type ?? "any"].flat().join(" or "),
      required: s.required?.includes(name) ?? false,
      about: [
        raw.description ?? p.description ?? "",
        fallback === undefined ? "" : `Default ${JSON.stringify(fallback)}.`,
      ]
        .filter(Boolean)
        .join(" "),
    };
  });
  return [...parts, ...own];
}
