import { useQueries, useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import type { KeyChoice } from "../api/gateway";
import { app as appQuery, apps as appsQuery } from "../api/queries";

export interface UsableKey {
  app: Schemas["App"];
  key: Schemas["Key"];
}

/** The active keys of active apps, newest app first; undefined until they are known. */
export function useUsableKeys(): { keys: UsableKey[] | undefined; error: Error | null } {
  const apps = useQuery(appsQuery);
  const active = apps.data?.filter((a) => a.active) ?? [];
  const details = useQueries({
    queries: active.map((a) => appQuery(a.app_id)),
    combine: (results) => ({
      loaded: results.every((r) => r.data !== undefined),
      error: results.find((r) => r.isError)?.error ?? null,
      list: results.map((r) => r.data),
    }),
  });
  const keys = details.list.flatMap((detail) =>
    detail ? detail.keys.filter((k) => k.status === "active").map((key) => ({ app: detail, key })) : [],
  );
  return {
    keys: apps.data && details.loaded ? keys : undefined,
    error: apps.error ?? details.error,
  };
}

/** The key that was asked for, or the first that fits. */
export function chosenKey(keys: UsableKey[], wanted: { app?: string; key?: string }): UsableKey | undefined {
  return (
    keys.find((k) => k.key.key_id === wanted.key) ??
    keys.find((k) => k.app.app_id === wanted.app) ??
    keys.find((k) => k.key.environment === "test") ??
    keys[0]
  );
}

/** What a call says of the key it is made with. */
export function choiceOf(key: UsableKey | undefined): KeyChoice {
  return key ? { app_id: key.app.app_id, key_id: key.key.key_id } : {};
}

/** With onNone, no key can be chosen, too. */
export function KeyPicker({
  keys,
  chosen,
  onChange,
  onNone,
}: {
  keys: UsableKey[];
  chosen: UsableKey | undefined;
  onChange: (key: UsableKey) => void;
  onNone?: () => void;
}) {
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="font-medium">Key</span>
      <select
        className="field"
        value={chosen?.key.key_id ?? ""}
        onChange={(e) => {
          const key = keys.find((k) => k.key.key_id === e.target.value);
          if (key) onChange(key);
          else onNone?.();
        }}
      >
        {onNone && <option value="">No key: your session</option>}
        {keys.map(({ app, key }) => (
          <option key={key.key_id} value={key.key_id}>
            {app.name}: {key.hint}
          </option>
        ))}
      </select>
    </label>
  );
}
