import { expect, test } from "vitest";
import { csv, filled, type Point, sliced } from "./series";

const now = Date.parse("2026-03-05T10:20:00Z");
const point = (at: string, calls: number): Point => ({ at, calls, errors: 1, tokens_in: 2, tokens_out: 3 });

test("days without calls are there, with nothing", () => {
  const points = filled([[point("2026-03-03T00:00:00Z", 4)], [point("2026-03-03T00:00:00Z", 5)]], 4, now);
  expect(points.map((p) => [p.at.slice(0, 10), p.calls])).toEqual([
    ["2026-03-02", 0],
    ["2026-03-03", 9],
    ["2026-03-04", 0],
    ["2026-03-05", 0],
  ]);
  expect(points[1]).toMatchObject({ errors: 2, tokens_in: 4, tokens_out: 6 });
});

test("short ranges go by the hour and end now", () => {
  const points = filled([[point("2026-03-05T09:00:00Z", 1)]], 1, now);
  expect(points).toHaveLength(11);
  expect(points[9]?.calls).toBe(1);
});

test("slices of several apps are summed and sorted", () => {
  const slice = (label: string, calls: number) => ({ label, calls, errors: 0, tokens_in: 0, tokens_out: 0 });
  const got = sliced([slice("Nova", 2), slice("Darwin", 3), slice("Nova", 4)]);
  expect(got.map((s) => [s.label, s.calls])).toEqual([
    ["Nova", 6],
    ["Darwin", 3],
  ]);
});

test("CSV quotes what needs it and starts no formula", () => {
  expect(
    csv(
      ["app", "calls"],
      [
        ['a "b", c', 2],
        ["=1+1", -1],
      ],
    ),
  ).toBe('app,calls\r\n"a ""b"", c",2\r\n\'=1+1,-1\r\n');
});
