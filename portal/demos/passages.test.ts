import { expect, test } from "vitest";
import { instructionFor, passagesOf, relevant } from "./passages";

const document = Array.from(
  { length: 60 },
  (_, i) => `Paragraph ${i}. ${i === 41 ? "The zebra crosses." : "Nothing here."} ${"x".repeat(600)}`,
).join("\n\n");

test("no paragraph is lost, and no passage is much longer than the others", () => {
  const passages = passagesOf(document);
  for (let i = 0; i < 60; i++)
    expect(passages.filter((p) => p.text.includes(`Paragraph ${i}.`)).length).toBe(1);
  for (const p of passages) expect(p.text.length).toBeLessThanOrEqual(1_202);
  expect(
    passagesOf("a".repeat(5_000))
      .map((p) => p.text)
      .join(""),
  ).toBe("a".repeat(5_000));
  expect(passagesOf("  \n\n ")).toEqual([]);
});

test("a question finds its passage", () => {
  const passages = passagesOf(document);
  const found = relevant(passages, "Where does the zebra go?", 3);
  expect(found.length).toBeLessThanOrEqual(3);
  expect(found.some((p) => p.text.includes("zebra"))).toBe(true);
  expect(instructionFor("a.txt", found)).toContain(`[${found[0]?.id}]`);
});
