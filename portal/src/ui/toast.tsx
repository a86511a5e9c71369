import { useSyncExternalStore } from "react";
import { Icon } from "./icon";

type Kind = "good" | "bad";
interface Toast {
  id: number;
  kind: Kind;
  text: string;
}

const shownForMs = { good: 5_000, bad: 10_000 };
const most = 3;

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  set(toasts.filter((t) => t.id !== id));
}

/** Says in passing how something went. What must be read stays on the page instead. */
export function toast(kind: Kind, text: string): void {
  const id = ++last;
  set([...toasts.slice(1 - most), { id, kind, text }]);
  setTimeout(() => dismiss(id), shownForMs[kind]);
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** The place where toasts show; one per page. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex flex-col items-end gap-2"
    >
      {shown.map((t) => (
        <div
          key={t.id}
          className={`card pointer-events-auto flex max-w-md items-start gap-3 px-4 py-3 shadow-lg ${t.kind === "good" ? "text-good" : "text-bad"}`}
        >
          <Icon name={t.kind === "good" ? "check" : "alert"} className="mt-0.5 size-4" />
          <span className="text-ink">{t.text}</span>
          <button type="button" aria-label="Dismiss" className="text-muted" onClick={() => dismiss(t.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
