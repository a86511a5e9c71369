import MiniSearch from "minisearch";
import type { Guide, Section } from "./markdown";

const mostFound = 12;

/** A search over the sections of the guides, in the page itself. */
export function finder(guides: Guide[]): (wanted: string) => Section[] {
  const sections = guides.flatMap((g) => g.sections);
  const byID = new Map(sections.map((s) => [s.id, s]));
  const index = new MiniSearch<Section>({ fields: ["title", "text"], idField: "id" });
  index.addAll(sections);
  return (wanted) =>
    index
      .search(wanted, { prefix: true, fuzzy: 0.2, boost: { title: 3 }, combineWith: "AND" })
      .slice(0, mostFound)
      .flatMap((r) => byID.get(r.id as string) ?? []);
}
