import { useEffect, useRef, useState } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { compact, number } from "../format/number";
import { onThemeChange } from "../ui/theme";
import type { Point } from "./series";

const heightPx = 240;

/** The colours of the page, as the canvas wants them. */
function colours(probe: HTMLElement): { calls: string; errors: string; text: string; grid: string } {
  const of = (name: string) => {
    probe.style.color = `var(--color-${name})`;
    const value = getComputedStyle(probe).color;
    probe.style.color = "";
    return value;
  };
  return { calls: of("accent"), errors: of("bad"), text: of("muted"), grid: of("line") };
}

interface Props {
  points: Point[];
  earlier: Point[] | undefined; // those of the time before, one for each point
  byHour: boolean;
}

/**
 * Calls and errors over time, and the calls of the time before as a line. Dragging zooms, a double click or the button shows
 * everything again. Screen readers have the table beside it.
 */
export function UsageChart({ points, earlier, byHour }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [themed, setThemed] = useState(0);
  const [zoomed, setZoomed] = useState(false);
  const drawn = useRef<UPlot>(null);
  const [at, setAt] = useState<number | null>(null);

  useEffect(() => onThemeChange(() => setThemed((n) => n + 1)), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew in the colours of another theme
  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const c = colours(host);
    const axis = { stroke: c.text, grid: { stroke: c.grid, width: 1 }, ticks: { stroke: c.grid, width: 1 } };
    const bars = UPlot.paths.bars?.({ size: [0.7, 48], radius: 0.15 });
    const chart = new UPlot(
      {
        width: Math.max(host.clientWidth, 100),
        height: heightPx,
        legend: { show: false },
        cursor: { y: false, points: { show: false } },
        tzDate: (s) => (byHour ? new Date(s * 1000) : UPlot.tzDate(new Date(s * 1000), "Etc/UTC")),
        scales: { y: { range: (_u, _min, max) => [0, Math.max(4, max * 1.1)] } },
        series: [
          {},
          {
            label: "Calls",
            width: 0,
            stroke: c.calls,
            fill: c.calls,
            ...(bars ? { paths: bars } : {}),
            points: { show: false },
          },
          {
            label: "Errors",
            width: 0,
            stroke: c.errors,
            fill: c.errors,
            ...(bars ? { paths: bars } : {}),
            points: { show: false },
          },
          ...(earlier
            ? [{ label: "Calls before", width: 1.5, stroke: c.text, dash: [4, 4], points: { show: false } }]
            : []),
        ],
        axes: [
          axis,
          {
            ...axis,
            size: 56,
            values: (_u, ticks) => ticks.map((t) => (Number.isInteger(t) ? compact(t) : "")),
          },
        ],
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          setScale: [(u) => setZoomed(isZoomed(u))],
        },
      },
      [
        points.map((p) => Date.parse(p.at) / 1000),
        points.map((p) => p.calls),
        points.map((p) => p.errors),
        ...(earlier ? [points.map((_, i) => earlier[i]?.calls ?? 0)] : []),
      ],
      host,
    );
    drawn.current = chart;
    let gone = false;
    const resize = new ResizeObserver(() => {
      if (!gone) chart.setSize({ width: Math.max(host.clientWidth, 100), height: heightPx });
    });
    resize.observe(host);
    return () => {
      gone = true;
      drawn.current = null;
      resize.disconnect();
      chart.destroy();
    };
  }, [points, earlier, byHour, themed]);

  const shown = at === null ? undefined : points[at];
  return (
    <figure>
      <figcaption className="mb-2 flex min-h-6 flex-wrap items-center gap-x-4 text-sm text-muted">
        <span className="flex items-center gap-1.5">
          <span className="size-2.5 rounded-sm bg-accent" /> Calls
        </span>
        <span className="flex items-center gap-1.5">
          <span className="size-2.5 rounded-sm bg-bad" /> Errors
        </span>
        {earlier && (
          <span className="flex items-center gap-1.5">
            <span className="w-4 border-t-2 border-dashed border-current" /> Calls before
          </span>
        )}
        {zoomed && (
          <button type="button" className="text-accent underline" onClick={() => showAll(drawn.current)}>
            Show everything
          </button>
        )}
        {shown && (
          <span className="ml-auto tabular-nums">
            {bucketName(shown.at, byHour)}: {number(shown.calls)} calls, {number(shown.errors)} errors
            {earlier && at !== null && `, ${number(earlier[at]?.calls ?? 0)} calls before`}
          </span>
        )}
      </figcaption>
      <div ref={place} aria-hidden="true" className="min-w-0 overflow-hidden" />
    </figure>
  );
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Whether less than all points are in view. */
function isZoomed(chart: UPlot): boolean {
  const times = chart.data[0];
  const { min, max } = chart.scales.x ?? {};
  const first = times[0];
  const last = times.at(-1);
  if (min == null || max == null || first === undefined || last === undefined) return false;
  return min > first || max < last;
}

function showAll(chart: UPlot | null): void {
  const first = chart?.data[0][0];
  const last = chart?.data[0].at(-1);
  if (first !== undefined && last !== undefined) chart?.setScale("x", { min: first, max: last });
}

/** Days are days in UTC, as the quota counts; hours are shown in the reader's zone. */
export const bucketName = (at: string, byHour: boolean): string =>
  byHour ? hour.format(new Date(at)) : day.format(new Date(at));
