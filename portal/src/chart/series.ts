import type { Schemas } from "../api/client";

export type Counters = Schemas["Counters"];
export type Point = Counters & { at: string };

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const hourlyUpToDays = 3; // longer ranges are asked for by the day

const mostDays = 400; // that can be asked for

/** Whether usage goes back far enough to compare a time with the one before. */
export const comparable = (days: number): boolean => 2 * days <= mostDays;

export const nothing: Counters = { calls: 0, errors: 0, tokens_in: 0, tokens_out: 0 };

export const add = (a: Counters, b: Counters): Counters => ({
  calls: a.calls + b.calls,
  errors: a.errors + b.errors,
  tokens_in: a.tokens_in + b.tokens_in,
  tokens_out: a.tokens_out + b.tokens_out,
});

export const hourly = (days: number): boolean => days <= hourlyUpToDays;

/** Sums series bucket by bucket and puts zeros where nothing happened, from the first day's start to now. */
export function filled(series: readonly (readonly Point[])[], days: number, now: number): Point[] {
  const sums = new Map<number, Counters>();
  for (const points of series)
    for (const p of points) {
      const at = Date.parse(p.at);
      sums.set(at, add(sums.get(at) ?? nothing, p));
    }
  const step = hourly(days) ? hourMs : dayMs;
  const first = Math.floor(now / dayMs) * dayMs - (days - 1) * dayMs;
  const points: Point[] = [];
  for (let at = first; at <= now; at += step)
    points.push({ at: new Date(at).toISOString(), ...(sums.get(at) ?? nothing) });
  return points;
}

/** One way to look at usage: what is counted together, and how much. */
export interface Slice extends Counters {
  label: string;
}

/** Slices of the same label become one; the most calls come first. */
export function sliced(slices: readonly Slice[]): Slice[] {
  const byLabel = new Map<string, Slice>();
  for (const s of slices) {
    const old = byLabel.get(s.label);
    byLabel.set(s.label, { label: s.label, ...(old ? add(old, s) : add(nothing, s)) });
  }
  return [...byLabel.values()].sort((a, b) => b.calls - a.calls || a.label.localeCompare(b.label));
}

// A cell that a spreadsheet would take for a formula is made text.
const cell = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** Rows as CSV (RFC 4180) with a line of names. */
export function csv(names: string[], rows: (string | number)[][]): string {
  const lines = [names, ...rows].map((row) =>
    row.map((v) => (typeof v === "number" ? String(v) : cell(v))).join(","),
  );
  return `${lines.join("\r\n")}\r\n`;
}
