import { expect, test } from "vitest";
import { change } from "./number";

test("a change is said with its sign, and of nothing comes no percentage", () => {
  expect(change(100, 150)).toBe("+50 %");
  expect(change(200, 150)).toBe("−25 %");
  expect(change(1000, 1001)).toBe("±0 %");
  expect(change(0, 7)).toBe("new");
  expect(change(3, 3)).toBe("no change");
});
