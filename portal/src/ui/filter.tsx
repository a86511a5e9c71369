import type { ReactNode } from "react";

interface ChoiceProps {
  label: string;
  value: string | undefined; // undefined is all
  values: readonly (readonly [value: string, text: string])[];
  onChange: (value: string | undefined) => void;
}

/** The choices that narrow a list down. */
export function Filter({ children }: { children: ReactNode }) {
  return (
    <search aria-label="Filter" className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      {children}
    </search>
  );
}

/** One choice of a filter that stands in any other way. */
export function FilterField({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-muted">{label}</span>
      {children}
    </label>
  );
}

/** A choice of one value, or of all. */
export function FilterChoice({ label, value, values, onChange }: ChoiceProps) {
  return (
    <FilterField label={label}>
      <select className="field" value={value ?? ""} onChange={(e) => onChange(e.target.value || undefined)}>
        <option value="">All</option>
        {values.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </FilterField>
  );
}

interface Days {
  from?: string;
  to?: string;
}

/** The first and the last day, in the reader's zone. */
export function FilterDays({
  days,
  onChange,
}: {
  days: Days;
  onChange: (name: keyof Days, value: string | undefined) => void;
}) {
  const day = (name: keyof Days, label: string) => (
    <FilterField label={label}>
      <input
        type="date"
        className="field"
        value={days[name] ?? ""}
        onChange={(e) => onChange(name, e.target.value || undefined)}
      />
    </FilterField>
  );
  return (
    <div className="col-span-2 grid grid-cols-2 gap-3">
      {day("from", "From")}
      {day("to", "Until, included")}
    </div>
  );
}
