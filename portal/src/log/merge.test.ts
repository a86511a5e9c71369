import { expect, test } from "vitest";
import { type Call, merged } from "./merge";

const call = (id: string, second: number) =>
  ({ id, at: `2026-03-05T10:00:${String(second).padStart(2, "0")}.000Z` }) as Call;
const ids = (calls: Call[]) => calls.map((c) => c.id).join(" ");

test("calls of several apps are one list, the newest first", () => {
  const got = merged([
    { calls: [call("a9", 9), call("a3", 3)], more: false },
    { calls: [call("b7", 7), call("b1", 1)], more: false },
  ]);
  expect(ids(got)).toBe("a9 b7 a3 b1");
});

test("the list ends where it would have holes", () => {
  const got = merged([
    { calls: [call("a9", 9), call("a5", 5)], more: true },
    { calls: [call("b7", 7), call("b1", 1)], more: false },
  ]);
  expect(ids(got)).toBe("a9 b7 a5");
});
