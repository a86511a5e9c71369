import type { Schemas } from "../api/client";
import type { Counters } from "../chart/series";
import { change, compact, duration, number, percent } from "../format/number";

interface Props {
  totals: Counters;
  before: Counters | undefined; // of the same time before, if it is compared
  latency: Schemas["Latency"];
}

/** The numbers of a time, and by how much they differ from those of the time before. */
export function UsageTiles({ totals, before, latency }: Props) {
  const { ttft_ms, took_ms } = latency;
  return (
    <dl className="grid grid-cols-2 gap-4 lg:grid-cols-3 2xl:grid-cols-6">
      <Tile name="Calls" value={totals.calls} before={before?.calls} />
      <Tile
        name="Errors"
        value={totals.errors}
        before={before?.errors}
        about={percent(totals.errors, totals.calls)}
      />
      <Tile name="Tokens in" value={totals.tokens_in} before={before?.tokens_in} />
      <Tile name="Tokens out" value={totals.tokens_out} before={before?.tokens_out} />
      <Times name="To the first token" of={ttft_ms} />
      <Times name="To the end" of={took_ms} />
    </dl>
  );
}

interface TileProps {
  name: string;
  value: number;
  before: number | undefined;
  about?: string;
}

function Tile({ name, value, before, about }: TileProps) {
  return (
    <div className="card p-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="mt-1 text-2xl font-semibold tabular-nums" title={number(value)}>
        {value < 100_000 ? number(value) : compact(value)}
        {about && <span className="ml-2 text-sm font-normal text-muted">{about}</span>}
      </dd>
      {before !== undefined && (
        <dd className="text-sm text-muted tabular-nums">
          {change(before, value)}, {compact(before)} before
        </dd>
      )}
    </div>
  );
}

function Times({ name, of }: { name: string; of: Schemas["Percentiles"] }) {
  return (
    <div className="card p-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="mt-1 text-2xl font-semibold tabular-nums">
        <span className="whitespace-nowrap">{of.calls === 0 ? "–" : duration(of.p50)}</span>
        <span className="ml-2 text-sm font-normal text-muted">median</span>
      </dd>
      {of.calls > 0 && (
        <dd className="text-sm text-muted tabular-nums">
          95 % within {duration(of.p95)}, 99 % within {duration(of.p99)}
        </dd>
      )}
    </div>
  );
}
