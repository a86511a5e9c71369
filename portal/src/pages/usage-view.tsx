import { useMemo, useState } from "react";
import type { Schemas } from "../api/client";
import {
  add,
  type Counters,
  comparable,
  csv,
  dayMs,
  filled,
  hourly,
  nothing,
  type Point,
  type Slice,
  sliced,
} from "../chart/series";
import { bucketName, UsageChart } from "../chart/usage-chart";
import { number, percent } from "../format/number";
import { save } from "../format/save";
import { Button } from "../ui/button";
import { Card, Notice, Table } from "../ui/layout";
import { UsageTiles } from "./usage-tiles";

const groups = ["App", "Key", "Model", "Task", "Status"] as const;
type Group = (typeof groups)[number];

export const ranges = [1, 7, 30, 90, 365];
export const defaultDays = 30;

export const rangeName = (days: number): string =>
  days === 1 ? "Today" : days === 365 ? "12 months" : `${days} days`;

type Usage = Schemas["Usage"];

interface Props {
  usage: Usage;
  days: number;
  byApp: Slice[];
  keyNames: ReadonlyMap<string, string>;
  before?: readonly Point[] | undefined; // the points of the same time before, if it is compared
}

function slicesOf(group: Group, { usage, byApp, keyNames }: Props): Slice[] {
  switch (group) {
    case "App":
      return sliced(byApp);
    case "Key":
      return sliced(usage.by_key.map((k) => ({ ...k, label: keyNames.get(k.key_id) ?? k.key_id })));
    case "Model":
      return sliced(usage.by_model.map((m) => ({ ...m, label: m.model || "none" })));
    case "Task":
      return sliced(usage.by_task.map((t) => ({ ...t, label: t.task })));
    case "Status":
      return sliced(usage.by_status.map((s) => ({ ...s, label: String(s.status) })));
  }
}

/** Totals, a chart with its table, and the same counters by what they belong to. */
export function UsageView(props: Props) {
  const { usage, days, before } = props;
  const [group, setGroup] = useState<Group>("Model");
  const byHour = hourly(days);
  const points = useMemo(() => filled([usage.series], days, Date.now()), [usage, days]);
  const earlier = useMemo(
    () => (before ? filled([before], days, Date.now() - days * dayMs) : undefined),
    [before, days],
  );
  const { totals, drift } = usage;
  const slices = slicesOf(group, props);
  const counters = (c: Counters) => [c.calls, c.errors, c.tokens_in, c.tokens_out];
  const names = ["calls", "errors", "tokens_in", "tokens_out"];
  return (
    <div className="flex flex-col gap-4">
      <UsageTiles
        totals={totals}
        before={earlier?.reduce<Counters>((sum, p) => add(sum, p), nothing)}
        latency={usage}
      />
      {drift !== 0 && (
        <Notice tint="bad">
          What the nodes counted and what is stored differ by {number(drift)}. Please report it.
        </Notice>
      )}
      <Card
        title="Calls over time"
        about={
          byHour ? "By the hour, in your zone." : "By the day, in UTC, as the quota counts. Drag to zoom."
        }
        actions={
          <Button
            icon="download"
            onClick={() =>
              save(
                `usage-${days}-days.csv`,
                "text/csv",
                csv(
                  ["at", ...names],
                  points.map((p) => [p.at, ...counters(p)]),
                ),
              )
            }
          >
            CSV
          </Button>
        }
      >
        <UsageChart points={points} earlier={earlier} byHour={byHour} />
        <details className="mt-2">
          <summary className="text-sm text-muted">As a table</summary>
          <div className="mt-2 max-h-80 overflow-y-auto">
            <Table
              label="Calls over time"
              head={[byHour ? "Hour" : "Day (UTC)", "Calls", "Errors", "Tokens in", "Tokens out"]}
            >
              {points
                .filter((p) => p.calls > 0)
                .reverse()
                .map((p) => (
                  <tr key={p.at}>
                    <td className="whitespace-nowrap">{bucketName(p.at, byHour)}</td>
                    <Numbers of={p} />
                  </tr>
                ))}
            </Table>
          </div>
        </details>
      </Card>
      <Card
        title="What they were"
        actions={
          <>
            <label className="flex items-center gap-2">
              <span className="text-sm text-muted">By</span>
              <select
                className="field !w-auto"
                value={group}
                onChange={(e) => setGroup(e.target.value as Group)}
              >
                {groups.map((g) => (
                  <option key={g}>{g}</option>
                ))}
              </select>
            </label>
            <Button
              icon="download"
              onClick={() =>
                save(
                  `usage-by-${group.toLowerCase()}.csv`,
                  "text/csv",
                  csv(
                    [group.toLowerCase(), ...names],
                    slices.map((s) => [s.label, ...counters(s)]),
                  ),
                )
              }
            >
              CSV
            </Button>
          </>
        }
      >
        <Slices group={group} rows={slices} whole={totals.calls} />
      </Card>
    </div>
  );
}

function Numbers({ of }: { of: Counters }) {
  return (
    <>
      {[of.calls, of.errors, of.tokens_in, of.tokens_out].map((n, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: four columns that never move
        <td key={i} className="tabular-nums">
          {number(n)}
        </td>
      ))}
    </>
  );
}

function Slices({ group, rows, whole }: { group: Group; rows: Slice[]; whole: number }) {
  if (rows.length === 0) return <p className="text-muted">Nothing was called in this time.</p>;
  return (
    <Table label={`Usage by ${group}`} head={[group, "Share", "Calls", "Errors", "Tokens in", "Tokens out"]}>
      {rows.map((r) => (
        <tr key={r.label}>
          <td className="font-mono text-sm">{r.label}</td>
          <td>
            <span className="flex items-center gap-2">
              <span aria-hidden="true" className="h-2 w-20 overflow-hidden rounded-full bg-line">
                <span
                  className="block h-full bg-accent"
                  style={{ width: whole ? `${(r.calls / whole) * 100}%` : "0%" }}
                />
              </span>
              <span className="text-sm whitespace-nowrap text-muted tabular-nums">
                {percent(r.calls, whole)}
              </span>
            </span>
          </td>
          <Numbers of={r} />
        </tr>
      ))}
    </Table>
  );
}

/** Chooses how far back to look. */
export function RangePicker({ days, onChange }: { days: number; onChange: (days: number) => void }) {
  return (
    <label>
      <span className="sr-only">Time</span>
      <select className="field !w-auto" value={days} onChange={(e) => onChange(Number(e.target.value))}>
        {ranges.map((r) => (
          <option key={r} value={r}>
            {rangeName(r)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Whether the time before is shown, too. */
export function CompareToggle({
  days,
  on,
  onChange,
}: {
  days: number;
  on: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <label className="flex items-center gap-2 whitespace-nowrap has-disabled:text-muted">
      <input
        type="checkbox"
        className="size-4 accent-button"
        checked={on && comparable(days)}
        disabled={!comparable(days)}
        onChange={(e) => onChange(e.target.checked)}
      />
      Compare with before
    </label>
  );
}
