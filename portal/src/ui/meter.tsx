import { number } from "../format/number";

/** How much of a limit is used. */
export function Meter({ label, used, limit }: { label: string; used: number; limit: number }) {
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  const tint = share >= 0.9 ? "bg-bad" : share >= 0.7 ? "bg-warn" : "bg-accent";
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw meter elements each in its own way
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(used, limit)}
      aria-valuetext={`${number(used)} of ${number(limit)}`}
      className="h-2.5 overflow-hidden rounded-full bg-line"
    >
      <div
        className={`h-full rounded-full transition-[width] ${tint}`}
        style={{ width: `${Math.max(share * 100, used > 0 ? 1 : 0)}%` }}
      />
    </div>
  );
}
