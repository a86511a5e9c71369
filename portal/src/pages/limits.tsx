import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { asFailure } from "../api/failure";
import { credential, dryRun } from "../api/gateway";
import { catalog as catalogQuery, limits as limitsQuery } from "../api/queries";
import { duration, number } from "../format/number";
import { ago, Moment } from "../format/time";
import { buttonClass } from "../ui/button";
import { Card, Empty, Failed, Notice, PageHead, Skeleton, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { Meter } from "../ui/meter";
import { chosenKey, KeyPicker, type UsableKey, useUsableKeys } from "./key-picker";
import { MinuteUse } from "./limits-minute";

const planEveryMs = 5_000;
const liveEveryMs = 2_000;

export function Limits() {
  const limits = useQuery({ ...limitsQuery, refetchInterval: planEveryMs });
  const catalog = useQuery(catalogQuery);
  return (
    <>
      <PageHead
        title="Limits"
        about="What your plan allows, what is used of it, and what a call would meet now."
      />
      <div className="flex flex-col gap-4">
        <Loaded query={limits} lines={4}>
          {({ plan, day, minute, apps }) => (
            <div className="grid gap-4 md:grid-cols-3">
              <Card title="Live calls today">
                <p className="mb-2">
                  <span className="text-2xl font-semibold tabular-nums">{number(day.used)}</span>{" "}
                  <span className="text-muted">of {number(day.limit)}</span>
                </p>
                <Meter label="Live calls today" used={day.used} limit={day.limit} />
                <p className="mt-2 text-sm text-muted">
                  {number(day.remaining)} left. The UTC day ends {ago(day.resets_at)}, at{" "}
                  <Moment at={day.resets_at} />.
                </p>
              </Card>
              <Card title="Apps">
                <p className="mb-2">
                  <span className="text-2xl font-semibold tabular-nums">{number(apps.used)}</span>{" "}
                  <span className="text-muted">
                    of {apps.limit === null ? "any number" : number(apps.limit)}
                  </span>
                </p>
                {apps.limit !== null && <Meter label="Apps" used={apps.used} limit={apps.limit} />}
              </Card>
              <Card title="Calls a minute">
                <p>
                  <span className="text-2xl font-semibold tabular-nums">{number(minute.limit)}</span>{" "}
                  <span className="text-muted">for each key</span>
                </p>
                <p className="mt-2 text-sm text-muted">
                  By your <span className="capitalize">{plan}</span> plan. An app's own limit holds as well,
                  over all its keys.
                </p>
              </Card>
            </div>
          )}
        </Loaded>
        {limits.data && <MinuteUse minute={limits.data.minute} />}
        {limits.data?.organization && (
          <MinuteUse minute={limits.data.organization.minute} of={limits.data.organization.name} />
        )}
        <LiveLimits />
        <Card title="Plans">
          <Loaded query={catalog}>
            {({ plans }) => (
              <Table label="Plans" head={["Plan", "Live calls a day", "Calls a minute and key", "Apps"]}>
                {plans.map((p) => (
                  <tr key={p.id}>
                    <td className="font-medium">
                      {p.name} {limits.data?.plan === p.id && <Tag tint="accent">yours</Tag>}
                    </td>
                    <td className="tabular-nums">{number(p.calls_per_day)}</td>
                    <td className="tabular-nums">{number(p.rate_per_minute)}</td>
                    <td className="tabular-nums">{p.apps === null ? "unlimited" : number(p.apps)}</td>
                  </tr>
                ))}
              </Table>
            )}
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function LiveLimits() {
  const { keys, error } = useUsableKeys();
  const search = useSearch({ from: "/console/limits" });
  const navigate = useNavigate();
  if (error) return <Failed failure={asFailure(error)} />;
  if (!keys) return <Skeleton lines={4} />;
  const chosen = chosenKey(keys, search);
  if (!chosen)
    return (
      <Empty
        icon="gauge"
        title="No key to look at"
        action={
          <Link to="/apps" className={buttonClass("primary")}>
            Make a key
          </Link>
        }
      >
        With a key, its counters show here as the gateway has them.
      </Empty>
    );
  return (
    <Card
      title="Would a call be answered now?"
      about="The gateway judges a call of the key every two seconds and does not make it: a dry run costs nothing and is not counted."
    >
      <div className="mb-4 max-w-md">
        <KeyPicker
          keys={keys}
          chosen={chosen}
          onChange={(k) =>
            void navigate({ to: "/limits", search: { app: k.app.app_id, key: k.key.key_id }, replace: true })
          }
        />
      </div>
      <Judged key={chosen.key.key_id} chosen={chosen} />
    </Card>
  );
}

const limitNames: Record<string, string> = {
  key_per_minute: "This key, per minute",
  app_per_minute: "Its app, per minute",
  account_per_day: "Your account, per day",
};

function Judged({ chosen }: { chosen: UsableKey }) {
  const [watching, setWatching] = useState(false);
  const judged = useQuery({
    queryKey: ["dry run", chosen.key.key_id],
    queryFn: async () => dryRun(await credential(chosen.app.app_id, chosen.key.key_id), "Darwin"),
    enabled: watching,
    refetchInterval: liveEveryMs,
    gcTime: 0,
    retry: false,
  });
  useEffect(() => () => setWatching(false), []);
  if (!watching)
    return (
      <div className="flex flex-wrap items-center gap-3">
        <button type="button" className={buttonClass("primary")} onClick={() => setWatching(true)}>
          Watch it live
        </button>
        <span className="text-sm text-muted">Dry runs cost nothing.</span>
      </div>
    );
  return (
    <Loaded query={judged}>
      {({ would, limits, route }) => (
        <div className="flex flex-col gap-4">
          <Notice tint={would.status === 200 ? "good" : "warn"}>
            {would.status === 200 ? (
              <>
                Yes: nothing stands against it.
                {route && ` It would go to ${route.model}${route.target ? ` at ${route.target}` : ""}.`}
              </>
            ) : (
              <>
                No, the answer would be {would.status}: {would.detail}
                {would.retry_after_seconds !== null && ` Try again in ${would.retry_after_seconds} s.`}
              </>
            )}
          </Notice>
          <ul className="grid gap-4 md:grid-cols-2">
            {limits.map((l) => (
              <li key={l.name}>
                <p className="mb-1 flex justify-between gap-3">
                  <span>{limitNames[l.name] ?? l.name}</span>
                  <span className="text-muted tabular-nums">
                    {number(l.remaining)} of {number(l.max)} left
                  </span>
                </p>
                <Meter label={limitNames[l.name] ?? l.name} used={l.max - l.remaining} limit={l.max} />
                <p className="mt-1 text-sm text-muted">
                  {l.reset_seconds > 0 ? `More in ${duration(l.reset_seconds * 1000)}.` : "Free."}
                </p>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Loaded>
  );
}
