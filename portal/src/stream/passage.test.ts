import { expect, test } from "vitest";
import { emptyPassage, extend, passageText } from "./passage";

function grown(pieces: string[]) {
  return pieces.reduce(extend, emptyPassage);
}

test("no character is lost, whatever the pieces", () => {
  const words = Array.from({ length: 40_000 }, (_, i) => (i % 37 === 0 ? "\n" : `word${i} `));
  const passage = grown(words);
  expect(passageText(passage)).toBe(words.join(""));
  expect(passage.blocks.length).toBeGreaterThan(200);
});

test("settled blocks stay the very same while the text grows", () => {
  const before = grown(Array.from({ length: 5_000 }, (_, i) => `word${i} `));
  const after = extend(before, "x".repeat(50_000));
  expect(after.blocks.slice(0, before.blocks.length)).toEqual(before.blocks);
  expect(after.tail.length).toBeLessThan(2_000);
});

test("a character of two code units is not torn apart", () => {
  const passage = grown([`a${"😀".repeat(10_000)}`]);
  for (const block of passage.blocks) expect(encodeURIComponent(block)).toBeTruthy();
});
