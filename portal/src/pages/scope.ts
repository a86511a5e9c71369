import type { Schemas } from "../api/client";

/** Families and tasks that keys may use. An empty list means all. */
export interface Scope {
  families: readonly string[];
  tasks: readonly string[];
}

/** The ids of the tasks of all families, each once, in the order of the catalog. */
export function taskIDs(families: Schemas["CatalogFamily"][]): string[] {
  return [...new Set(families.flatMap((f) => f.tasks.map((t) => t.id)))];
}

/** Whether a list of the scope lets an id through. */
export const lets = (list: readonly string[], id: string): boolean => list.length === 0 || list.includes(id);

/**
 * The list after an id was switched on or off. Off of a list that lets all through, what remains is named. The last one
 * cannot be switched off, as an empty list means all.
 */
export function switched(list: readonly string[], all: readonly string[], id: string): readonly string[] {
  if (list.length > 0 && !list.includes(id)) return [...list, id];
  const rest = (list.length === 0 ? all : list).filter((other) => other !== id);
  return rest.length > 0 ? rest : list;
}

/** How many tasks of a family keys of that scope may do. */
export function allowedTasks(scope: Scope, family: Schemas["CatalogFamily"]): number {
  return lets(scope.families, family.id) ? family.tasks.filter((t) => lets(scope.tasks, t.id)).length : 0;
}
