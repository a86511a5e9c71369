import type { ReactNode } from "react";
import type { Schemas } from "../api/client";
import type { LogSearch } from "../app/searches";

interface Props {
  search: LogSearch;
  keys: readonly Schemas["Key"][]; // to choose from
  models: readonly string[];
  onChange: (search: LogSearch) => void;
  children?: ReactNode; // what else is chosen
}

/** Which calls are shown. All of it is in the address. */
export function LogFilter({ search, keys, models, onChange, children }: Props) {
  const set = (name: keyof LogSearch, value: string) => {
    const { [name]: _, ...rest } = search;
    onChange(value ? ({ ...rest, [name]: value } as LogSearch) : rest);
  };
  const select = (name: "key" | "status" | "model", label: string, values: readonly [string, string][]) => (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-muted">{label}</span>
      <select className="field" value={search[name] ?? ""} onChange={(e) => set(name, e.target.value)}>
        <option value="">All</option>
        {values.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const date = (name: "from" | "to", label: string) => (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-muted">{label}</span>
      <input
        type="date"
        className="field"
        value={search[name] ?? ""}
        onChange={(e) => set(name, e.target.value)}
      />
    </label>
  );
  return (
    <search aria-label="Filter" className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      {children}
      {keys.length > 0 &&
        select(
          "key",
          "Key",
          keys.map((k) => [k.key_id, k.hint]),
        )}
      {select("status", "Status", [
        ["2xx", "2xx, answered"],
        ["4xx", "4xx, refused"],
        ["5xx", "5xx, failed"],
      ])}
      {select(
        "model",
        "Model",
        models.map((m) => [m, m]),
      )}
      {date("from", "From")}
      {date("to", "Until, included")}
    </search>
  );
}
