import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asFailure } from "../api/failure";
import type { LogSearch } from "../app/searches";
import { duration, number } from "../format/number";
import { Clock } from "../format/time";
import { Button } from "../ui/button";
import { Card, Empty, Failed, Notice, Skeleton, Tag, type Tint } from "../ui/layout";
import { Row, Rows } from "../ui/rows";
import { CallDetails } from "./details";
import { type Call, merged } from "./merge";
import { log as logQuery } from "./query";

const tailEveryMs = 2_000;

export const tint = ({ status, end }: Call): Tint =>
  status >= 500 ? "bad" : status >= 400 || end !== "done" ? "warn" : "good";

interface Props {
  apps: { app_id: string; name: string }[];
  search: LogSearch;
  onClear: () => void;
}

/** The calls of some apps, the newest first: what they were and how they went, nothing of what was in them. */
export function LogView({ apps, search, onClear }: Props) {
  const [live, setLive] = useState(true);
  const [open, setOpen] = useState<{ call: Call; app: string }>();
  const ids = apps.map((a) => a.app_id);
  const log = useInfiniteQuery({
    ...logQuery(ids, search),
    // Older pages stand still: they would all be read again for one that is new.
    refetchInterval: (q) => (live && (q.state.data?.pages.length ?? 1) === 1 ? tailEveryMs : false),
  });
  if (log.isPending) return <Skeleton lines={10} />;
  if (log.isError && !log.data)
    return <Failed failure={asFailure(log.error)} onRetry={() => void log.refetch()} />;
  const { pages } = log.data;
  const loaded = ids.map((id) => {
    const mine = pages.flatMap((p) => p[id] ?? []);
    return {
      id,
      calls: mine.flatMap((p) => p.requests),
      more: mine.at(-1)?.next_cursor != null,
    };
  });
  const appOf = new Map(loaded.flatMap((l) => l.calls.map((c) => [c, l.id] as const)));
  const calls = merged(loaded);
  const first = Object.values(pages[0] ?? {});
  const leftOut = first.reduce((sum, p) => sum + p.left_out, 0);
  const name = (call: Call) => apps.find((a) => a.app_id === appOf.get(call))?.name ?? "";
  const filtered = Object.keys(search).some((k) => k !== "app");
  return (
    <div className="flex flex-col gap-4">
      {leftOut > 0 && (
        <Notice tint="warn">
          {number(leftOut)} calls were too many at once to be kept here. Usage counts all of them.
        </Notice>
      )}
      <Card
        title="Calls"
        about={first[0] && `Kept for ${first[0].kept_days} days, without anything of their content.`}
        actions={
          <label className="flex min-h-9 items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-button"
              checked={live && pages.length === 1}
              disabled={pages.length > 1}
              onChange={(e) => setLive(e.target.checked)}
            />
            Live
          </label>
        }
      >
        {calls.length === 0 ? (
          <Empty
            icon="list"
            title={filtered ? "No call fits the filter" : "Nothing was called yet"}
            action={filtered && <Button onClick={onClear}>Clear the filter</Button>}
          >
            A call shows here within a few seconds.
          </Empty>
        ) : (
          <Rows label="Calls">
            {calls.map((c) => (
              <Row
                key={c.id}
                beside
                actions={
                  <Button
                    look="quiet"
                    aria-label={`Details of ${c.id}`}
                    onClick={() => setOpen({ call: c, app: appOf.get(c) ?? "" })}
                  >
                    Details
                  </Button>
                }
              >
                <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
                  <Tag tint={tint(c)}>{c.status}</Tag>
                  <span className="font-medium">{c.model || c.endpoint}</span>
                  {c.task && <span className="text-muted">{c.task}</span>}
                  {c.end !== "done" && c.status < 400 && <Tag tint="warn">{c.end.replaceAll("_", " ")}</Tag>}
                </p>
                <p className="mt-0.5 flex flex-wrap gap-x-4 text-sm text-muted tabular-nums">
                  <Clock at={c.at} />
                  {apps.length > 1 && <span>{name(c)}</span>}
                  <code className="font-mono">{c.hint ?? "a deleted key"}</code>
                  {c.ttft_ms !== null && <span>first token {duration(c.ttft_ms)}</span>}
                  <span>took {duration(c.took_ms)}</span>
                  <span>
                    {number(c.tokens_in)} in, {number(c.tokens_out)} out
                  </span>
                </p>
              </Row>
            ))}
          </Rows>
        )}
        {log.hasNextPage && (
          <div className="mt-4 flex justify-center">
            <Button disabled={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
              {log.isFetchingNextPage ? "Loading …" : "Older calls"}
            </Button>
          </div>
        )}
      </Card>
      {open && <CallDetails call={open.call} appID={open.app} onClose={() => setOpen(undefined)} />}
    </div>
  );
}
