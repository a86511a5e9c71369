const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

const relativeUpToMs = 7 * 86_400_000;

/** How long ago, up to a week; then the date. In the zone of the reader. */
export function ago(at: string, now = Date.now()): string {
  const delta = Date.parse(at) - now;
  if (Math.abs(delta) > relativeUpToMs) return full.format(new Date(at));
  for (const [unit, ms] of units) {
    if (Math.abs(delta) >= ms) return relative.format(Math.trunc(delta / ms), unit);
  }
  return "just now";
}

/** A moment; the exact time shows on hover. */
export function Moment({ at, relative: asRelative = false }: { at: string; relative?: boolean }) {
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {asRelative ? ago(at) : full.format(new Date(at))}
    </time>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment to the second. */
export function Clock({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {clock.format(new Date(at))}
    </time>
  );
}

/** The zone in which times are shown. */
export const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
