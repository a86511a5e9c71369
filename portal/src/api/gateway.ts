import { endSession, freshToken, onSessionChange } from "../session/session";
import { api, ask, type Schemas } from "./client";
import { Failure, failureOf, noAnswer } from "./failure";

/** Address of the gateway, which the control plane wrote into the page. */
export function gatewayURL(): string {
  const url = document.querySelector<HTMLMetaElement>("meta[name=modelgate-gateway]")?.content ?? "";
  return url.startsWith("http") ? url.replace(/\/$/, "") : location.origin;
}

/** A call to the gateway with an API key, or a token that stands for one. A refusal is thrown as a Failure. */
export async function callGateway(key: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${key}`);
  if (init.body) headers.set("Content-Type", "application/json");
  const response = await fetch(gatewayURL() + path, { ...init, headers }).catch((thrown: unknown) => {
    if (init.signal?.aborted) throw thrown;
    throw new Failure(0, `The gateway at ${gatewayURL()} did not answer. ${noAnswer.split(". ")[1]}`);
  });
  if (!response.ok) throw failureOf(response, await response.json().catch(() => undefined));
  return response;
}

/** The key of a call, or nothing: then the session itself calls, within its plan. */
export type KeyChoice = { app_id: string; key_id: string } | Record<string, never>;

/** A call to the gateway that the control plane makes for the developer. The value of a key stays there. A refusal is thrown as a Failure. */
export async function callPlayground(
  path: string,
  key: KeyChoice,
  body: object,
  signal?: AbortSignal,
): Promise<Response> {
  const response = await fetch(`/dev/playground${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${await freshToken()}`, "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, ...key }),
    ...(signal ? { signal } : {}),
  }).catch((thrown: unknown) => {
    if (signal?.aborted) throw thrown;
    throw new Failure(0, noAnswer);
  });
  if (response.status === 401 && !response.headers.has("X-Answered-By")) endSession();
  if (!response.ok) throw failureOf(response, await response.json().catch(() => undefined));
  return response;
}

// Values of keys, for as long as the page lives. They are never stored: every reload reads them again, which is recorded.
const values = new Map<string, string>();
onSessionChange(() => values.clear());

/** Keeps the value of a key that was just shown. */
export function rememberKey(keyID: string, key: string): void {
  values.set(keyID, key);
}

export function forgetKey(keyID: string): void {
  values.delete(keyID);
  tokens.delete(keyID);
}

/** The value of one of the developer's keys. The first time it asks the control plane. */
export async function keyValue(appID: string, keyID: string): Promise<string> {
  const known = values.get(keyID);
  if (known) return known;
  const query = { app_id: appID, key_id: keyID };
  const { key } = await ask(api.GET("/dev/playground/key-for-stream", { params: { query } }));
  values.set(keyID, key);
  return key;
}

const tokens = new Map<string, { value: string; until: number }>();
onSessionChange(() => tokens.clear());

/** What the gateway takes for one of the developer's keys: a token of minutes, so that no page needs the key's value. */
export async function credential(appID: string, keyID: string): Promise<string> {
  const known = tokens.get(keyID);
  if (known && known.until > Date.now()) return known.value;
  const query = { app_id: appID, key_id: keyID };
  const given = await ask(api.GET("/dev/config/stream-key", { params: { query } }));
  tokens.set(keyID, { value: given.token, until: Date.now() + given.expires_in * 800 });
  return given.token;
}

/** What the gateway would do with a call of this credential, without making it. */
export async function dryRun(key: string, model: string): Promise<Schemas["DryRun"]> {
  const response = await callGateway(key, "/api/v1/agent", {
    method: "POST",
    headers: { "X-Dry-Run": "1" },
    body: JSON.stringify({ prompt: "Would this be answered?", model, stream: true }),
  });
  return (await response.json()) as Schemas["DryRun"];
}
