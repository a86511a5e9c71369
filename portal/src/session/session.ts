import type { components } from "../api/contract.gen";

type Developer = components["schemas"]["Developer"];

// The token lives in memory only: a script injected into another page, or a copied profile, finds nothing to steal.
let token: string | undefined;
let developer: Developer | undefined;
const listeners = new Set<() => void>();

export function accessToken(): string | undefined {
  return token;
}

export function currentDeveloper(): Developer | undefined {
  return developer;
}

export function beginSession(accessToken: string, who: Developer): void {
  token = accessToken;
  developer = who;
  for (const f of listeners) f();
}

export function endSession(): void {
  if (!token) return;
  token = undefined;
  developer = undefined;
  for (const f of listeners) f();
}

/** Calls f whenever a session begins or ends. */
export function onSessionChange(f: () => void): void {
  listeners.add(f);
}
