import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { app as appQuery, apps as appsQuery, catalog as catalogQuery } from "../api/queries";
import type { LogSearch } from "../app/searches";
import { zone } from "../format/time";
import { LogFilter } from "../log/filter";
import { LogView } from "../log/view";
import { buttonClass } from "../ui/button";
import { FilterField } from "../ui/filter";
import { Card, Empty, PageHead } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { useApp } from "./app";

const mostTogether = 12; // apps that are read at once

/** The names of the models that can be called. */
function useModels(): string[] {
  const catalog = useQuery(catalogQuery);
  return catalog.data?.models.map((m) => m.id) ?? [];
}

/** The calls of all apps, or of one. */
export function Log() {
  const apps = useQuery(appsQuery);
  return (
    <>
      <PageHead title="Request log" about={`Every call, as it went. Times are in ${zone()}.`} />
      <Loaded query={apps} lines={8}>
        {(list) =>
          list.length === 0 ? (
            <Empty
              icon="list"
              title="Nothing was called yet"
              action={
                <Link to="/" className={buttonClass("primary")}>
                  To the quick start
                </Link>
              }
            >
              With an app and a key, a call shows here within a few seconds.
            </Empty>
          ) : (
            <LogOf apps={list} />
          )
        }
      </Loaded>
    </>
  );
}

function LogOf({ apps }: { apps: Schemas["App"][] }) {
  const search = useSearch({ from: "/console/log" });
  const navigate = useNavigate();
  const models = useModels();
  const one = apps.find((a) => a.app_id === search.app) ?? (apps.length > mostTogether ? apps[0] : undefined);
  const detail = useQuery({ ...appQuery(one?.app_id ?? ""), enabled: one !== undefined });
  const go = (change: LogSearch) => void navigate({ to: "/log", search: change, replace: true });
  return (
    <div className="flex flex-col gap-4">
      <Card>
        <LogFilter search={search} keys={(one && detail.data?.keys) ?? []} models={models} onChange={go}>
          <FilterField label="App">
            <select
              className="field"
              value={one?.app_id ?? ""}
              onChange={(e) => {
                const { app: _app, key: _key, ...rest } = search;
                go(e.target.value ? { ...rest, app: e.target.value } : rest);
              }}
            >
              {apps.length <= mostTogether && <option value="">All</option>}
              {apps.map((a) => (
                <option key={a.app_id} value={a.app_id}>
                  {a.name}
                </option>
              ))}
            </select>
          </FilterField>
        </LogFilter>
      </Card>
      <LogView
        apps={one ? [one] : apps}
        search={search}
        onClear={() => go(search.app ? { app: search.app } : {})}
      />
    </div>
  );
}

/** The calls of the app whose pages these are. */
export function AppLog() {
  const app = useApp();
  const search = useSearch({ from: "/console/apps/$appId/log" });
  const navigate = useNavigate();
  const models = useModels();
  const go = (change: LogSearch) =>
    void navigate({
      to: "/apps/$appId/log",
      params: { appId: app.app_id },
      search: change,
      replace: true,
    });
  return (
    <div className="flex flex-col gap-4">
      <Card>
        <LogFilter search={search} keys={app.keys} models={models} onChange={go} />
      </Card>
      <LogView apps={[app]} search={search} onClear={() => go({})} />
    </div>
  );
}
