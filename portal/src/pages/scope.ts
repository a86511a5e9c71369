import type { Schemas } from "../api/client";

/** Families and tasks that keys may use. An empty list means all. */
export interface Scope {
  families: string[];
  tasks: string[];
}

/** The tasks of all families, each once, in the order of the catalog. */
export function taskRows(families: Schemas["CatalogFamily"][]): Schemas["CatalogTask"][] {
  const rows = new Map<string, Schemas["CatalogTask"]>();
  for (const family of families)
    for (const task of family.tasks) if (!rows.has(task.id)) rows.set(task.id, task);
  return [...rows.values()];
}

/** The list with the id added or taken away. */
export function toggled(list: readonly string[], id: string): string[] {
  return list.includes(id) ? list.filter((other) => other !== id) : [...list, id];
}

/** Whether a key of that scope may do the task with the family, if the family has it at all. */
export function verdict(
  scope: Scope,
  family: Schemas["CatalogFamily"],
  task: string,
): "allowed" | "refused" | "none" {
  if (!family.tasks.some((t) => t.id === task)) return "none";
  const familyOK = scope.families.length === 0 || scope.families.includes(family.id);
  const taskOK = scope.tasks.length === 0 || scope.tasks.includes(task);
  return familyOK && taskOK ? "allowed" : "refused";
}
