import { useSyncExternalStore } from "react";
import type { components } from "../api/contract.gen";

export type Developer = components["schemas"]["Developer"];
type Session = components["schemas"]["Session"];

// The access token lives in memory only: a script injected into another page, or a copied profile, finds nothing to steal. A
// reload renews the session with the HttpOnly cookie that sign-in set; the mark in storage says that asking is worth a call.
const mark = "modelgate.signed-in";
const renewBeforeMs = 60_000;
const renewTries = 3;
const renewPauseMs = 400;

let token: string | undefined;
let expiresAt = 0;
let developer: Developer | undefined;
const listeners = new Set<() => void>();
const tabs = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("modelgate.session");

tabs?.addEventListener("message", () => forget());

function tell(): void {
  for (const listener of listeners) listener();
}

function forget(): void {
  if (!token && !developer) return;
  token = undefined;
  developer = undefined;
  tell();
}

export function currentDeveloper(): Developer | undefined {
  return developer;
}

export function beginSession(session: Session, now = Date.now()): void {
  token = session.access_token;
  expiresAt = now + session.expires_in * 1000;
  developer = session.developer;
  localStorage.setItem(mark, "1");
  tell();
}

/** Changes what is known of the developer, for instance after the address was confirmed. */
export function updateDeveloper(fresh: Developer): void {
  developer = fresh;
  tell();
}

/** Ends the session here and in the portal's other tabs. It does not call the server. */
export function endSession(): void {
  localStorage.removeItem(mark);
  tabs?.postMessage("ended");
  forget();
}

/** The access token, renewed if it is about to expire; undefined without a session. */
export async function freshToken(now = Date.now()): Promise<string | undefined> {
  if (token && now > expiresAt - renewBeforeMs) await renew();
  return token;
}

/** Goes on with the session of an earlier visit, if there is one. */
export async function restoreSession(): Promise<void> {
  if (!token && localStorage.getItem(mark)) await renew();
}

let renewing: Promise<void> | undefined;

// The cookie works once, so that one renewal runs at a time, in all tabs.
function renew(): Promise<void> {
  if (renewing) return renewing;
  const locked = async () => {
    if (navigator.locks) await navigator.locks.request("modelgate.renew", renewOnce);
    else await renewOnce();
  };
  renewing = locked().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewOnce(): Promise<void> {
  for (let tried = 1; ; tried++) {
    const response = await fetch("/dev/auth/refresh", { method: "POST" }).catch(() => undefined);
    if (response?.ok) {
      beginSession((await response.json()) as Session);
      return;
    }
    const again = !response || response.status === 409 || response.status >= 500;
    if (response?.status === 401) {
      endSession();
      return;
    }
    if (!again || tried === renewTries) return; // the token may be good for a while yet; a call will tell
    await new Promise((done) => setTimeout(done, renewPauseMs * tried));
  }
}

/** Calls f whenever a session begins, changes or ends; returns what stops that. */
export function onSessionChange(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function useDeveloper(): Developer | undefined {
  return useSyncExternalStore(onSessionChange, currentDeveloper);
}
