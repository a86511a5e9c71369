import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const stored = "modelgate.theme";
const listeners = new Set<() => void>();

export function theme(): Theme {
  const value = localStorage.getItem(stored);
  return value === "light" || value === "dark" ? value : "system";
}

/** Puts the chosen theme on the page; "system" leaves it to the browser. */
export function applyTheme(): void {
  const chosen = theme();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function chooseTheme(chosen: Theme): void {
  if (chosen === "system") localStorage.removeItem(stored);
  else localStorage.setItem(stored, chosen);
  applyTheme();
  for (const listener of listeners) listener();
}

/** Calls f when the colours of the page change: by choice here, or because the system changed. */
export function onThemeChange(f: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  listeners.add(f);
  system.addEventListener("change", f);
  return () => {
    listeners.delete(f);
    system.removeEventListener("change", f);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(onThemeChange, theme);
}
