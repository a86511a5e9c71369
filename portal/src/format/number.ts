const plain = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const number = (n: number): string => plain.format(n);

/** For axes and tiles: 12.3K. */
export const compact = (n: number): string => short.format(n);

/** A share as a percentage; nothing of nothing is nothing. */
export const percent = (part: number, whole: number): string =>
  whole === 0 ? "0 %" : `${((part / whole) * 100).toFixed(part > 0 && part / whole < 0.1 ? 1 : 0)} %`;

/** By how much a number changed, with its sign; nothing can be said of what grew from nothing. */
export function change(before: number, after: number): string {
  if (before === after) return "no change";
  if (before === 0) return "new";
  const share = Math.round((after / before - 1) * 100);
  return `${share > 0 ? "+" : share < 0 ? "−" : "±"}${plain.format(Math.abs(share))} %`;
}

const steps = ["B", "kB", "MB", "GB", "TB"];

/** A size in decimal units. */
export function bytes(n: number): string {
  let step = 0;
  let value = n;
  while (value >= 1000 && step < steps.length - 1) {
    value /= 1000;
    step++;
  }
  return `${value >= 10 || step === 0 ? Math.round(value) : value.toFixed(1)} ${steps[step]}`;
}

/** Milliseconds as people say them. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
