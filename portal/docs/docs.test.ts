import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Guide, guideOf } from "./markdown";
import { finder } from "./search";

const dir = join(import.meta.dirname, "guides");
const guides: Guide[] = readdirSync(dir)
  .sort()
  .map((name) => guideOf(name, readFileSync(join(dir, name), "utf8")));

test("every guide has a title, an address and sections with addresses of their own", () => {
  expect(guides.length).toBeGreaterThanOrEqual(10);
  const ids = guides.flatMap((g) => g.sections.map((s) => s.id));
  expect(new Set(ids).size).toBe(ids.length);
  for (const g of guides) for (const s of g.sections) expect(s.html, s.id).toContain(`id="${s.id}"`);
});

test("the search finds a section by its words, their beginnings and with a typing mistake", () => {
  const find = finder(guides);
  expect(find("dry run")[0]?.id).toBe("limits/dry-runs");
  expect(find("retry")[0]?.guide).toMatch(/errors|sdk/);
  expect(find("organizatoin").some((s) => s.guide === "organizations")).toBe(true);
  expect(find("zzzzqq")).toEqual([]);
  expect(find("")).toEqual([]);
});

test("links within the guides lead somewhere", () => {
  const ids = new Set([...guides.map((g) => g.id), ...guides.flatMap((g) => g.sections.map((s) => s.id))]);
  const links = guides.flatMap((g) =>
    g.sections.flatMap((s) => [...s.html.matchAll(/href="#([^"]+)"/g)].map((m) => m[1])),
  );
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) expect(ids).toContain(link);
});
