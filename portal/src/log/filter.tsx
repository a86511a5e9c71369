import type { ReactNode } from "react";
import type { Schemas } from "../api/client";
import { type LogSearch, narrowed } from "../app/searches";
import { Filter, FilterChoice, FilterDays } from "../ui/filter";

interface Props {
  search: LogSearch;
  keys: readonly Schemas["Key"][]; // to choose from
  models: readonly string[];
  onChange: (search: LogSearch) => void;
  children?: ReactNode; // what else is chosen
}

/** Which calls are shown. All of it is in the address. */
export function LogFilter({ search, keys, models, onChange, children }: Props) {
  const choose = (name: keyof LogSearch) => (value: string | undefined) =>
    onChange(narrowed(search, name, value));
  return (
    <Filter>
      {children}
      {keys.length > 0 && (
        <FilterChoice
          label="Key"
          value={search.key}
          values={keys.map((k) => [k.key_id, k.hint])}
          onChange={choose("key")}
        />
      )}
      <FilterChoice
        label="Status"
        value={search.status}
        values={[
          ["2xx", "2xx, answered"],
          ["4xx", "4xx, refused"],
          ["5xx", "5xx, failed"],
        ]}
        onChange={choose("status")}
      />
      <FilterChoice
        label="Model"
        value={search.model}
        values={models.map((m) => [m, m])}
        onChange={choose("model")}
      />
      <FilterDays days={search} onChange={(name, value) => choose(name)(value)} />
    </Filter>
  );
}
