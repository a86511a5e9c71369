import type { QueryClient } from "@tanstack/react-query";

/**
 * Shows a change before the service has confirmed it, and returns what takes it back. What was on its way is dropped, so that an
 * older answer does not overwrite it.
 */
export function foresee<T>(
  client: QueryClient,
  key: readonly unknown[],
  change: (before: T) => T,
): () => void {
  void client.cancelQueries({ queryKey: key, exact: true });
  const before = client.getQueryData<T>(key);
  if (before === undefined) return () => {};
  client.setQueryData<T>(key, change(before));
  return () => client.setQueryData<T>(key, before);
}
