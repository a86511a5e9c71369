import type { Schemas } from "../api/client";

export type Call = Schemas["RequestEntry"];

/** The calls of an app that are loaded, the newest first, and whether it has older ones. */
export interface Loaded {
  calls: readonly Call[];
  more: boolean;
}

/**
 * The calls of several apps as one list, the newest first. It ends where an app has older calls that are not loaded: what comes
 * after would not be whole.
 */
export function merged(apps: readonly Loaded[]): Call[] {
  const horizon = apps
    .filter((a) => a.more)
    .reduce((latest, a) => {
      const oldest = a.calls.at(-1)?.at ?? "";
      return oldest > latest ? oldest : latest;
    }, "");
  return apps
    .flatMap((a) => a.calls)
    .filter((c) => c.at >= horizon)
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : a.id < b.id ? 1 : -1));
}
