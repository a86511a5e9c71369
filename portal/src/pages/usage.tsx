import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { accountUsage, apps as appsQuery, appUsage } from "../api/queries";
import { comparable, type Slice } from "../chart/series";
import { useDeveloper } from "../session/session";
import { buttonClass } from "../ui/button";
import { Empty, PageHead } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { CompareToggle, defaultDays, RangePicker, ranges, UsageView } from "./usage-view";

const freshEveryMs = 10_000;

export function Usage() {
  const apps = useQuery(appsQuery);
  return (
    <Loaded query={apps} lines={8}>
      {(list) => (list.length === 0 ? <WithoutApps /> : <UsageOf apps={list} />)}
    </Loaded>
  );
}

// The session and Darwin tokens call without an app.
function WithoutApps() {
  const used = useQuery({ ...accountUsage(defaultDays), refetchInterval: freshEveryMs });
  return (
    <Loaded query={used} lines={8}>
      {(usage) =>
        usage.totals.calls > 0 ? (
          <UsageOf apps={[]} />
        ) : (
          <>
            <PageHead title="Usage" />
            <Empty
              icon="chart"
              title="Nothing was called yet"
              action={
                <Link to="/" className={buttonClass("primary")}>
                  To the quick start
                </Link>
              }
            >
              A call shows here within a few seconds.
            </Empty>
          </>
        )
      }
    </Loaded>
  );
}

function UsageOf({ apps }: { apps: Schemas["App"][] }) {
  const search = useSearch({ from: "/console/usage" });
  const developer = useDeveloper();
  const keyNames = new Map(developer ? [[developer.id, "Portal"]] : []); // what was called here without a key
  const navigate = useNavigate();
  const days = ranges.includes(search.days ?? 0) ? (search.days ?? defaultDays) : defaultDays;
  const one = apps.find((a) => a.app_id === search.app);
  const comparing = Boolean(search.compare) && comparable(days);
  const options = { refetchInterval: freshEveryMs };
  const all = useQuery({ ...accountUsage(days), ...options, enabled: !one });
  const single = useQuery({ ...appUsage(one?.app_id ?? "", days), ...options, enabled: Boolean(one) });
  const allBefore = useQuery({ ...accountUsage(days, 2 * days), enabled: comparing && !one });
  const singleBefore = useQuery({
    ...appUsage(one?.app_id ?? "", days, 2 * days),
    enabled: comparing && Boolean(one),
  });
  const before = comparing ? (one ? singleBefore : allBefore).data?.series : undefined;
  const go = (change: { app?: string; days?: number; compare?: boolean }) => {
    const { app, compare, ...rest } = { ...search, ...change };
    void navigate({
      to: "/usage",
      search: { ...rest, ...(app ? { app } : {}), ...(compare ? { compare } : {}) },
      replace: true,
    });
  };
  const name = (id: string) => apps.find((a) => a.app_id === id)?.name ?? (id || "Darwin tokens and portal");
  const rest = { days, keyNames, before };
  return (
    <>
      <PageHead title="Usage" about="Calls show within a few seconds.">
        <CompareToggle days={days} on={comparing} onChange={(compare) => go({ compare })} />
        <label>
          <span className="sr-only">App</span>
          <select
            className="field !w-auto max-w-48"
            value={one?.app_id ?? ""}
            onChange={(e) => go({ app: e.target.value })}
          >
            <option value="">All apps</option>
            {apps.map((a) => (
              <option key={a.app_id} value={a.app_id}>
                {a.name}
              </option>
            ))}
          </select>
        </label>
        <RangePicker days={days} onChange={(d) => go({ days: d })} />
      </PageHead>
      {one ? (
        <Loaded query={single} lines={8}>
          {(usage) => <UsageView {...rest} usage={usage} byApp={[{ label: one.name, ...usage.totals }]} />}
        </Loaded>
      ) : (
        <Loaded query={all} lines={8}>
          {(usage) => (
            <UsageView
              {...rest}
              usage={usage}
              byApp={usage.by_app.map((a): Slice => ({ ...a, label: name(a.app_id) }))}
            />
          )}
        </Loaded>
      )}
    </>
  );
}
