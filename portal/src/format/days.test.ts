import { expect, test } from "vitest";
import { span } from "./days";

test("a span holds its last day, in the reader's zone", () => {
  const { from, to } = span("2026-03-05", "2026-03-05");
  expect(Date.parse(to ?? "") - Date.parse(from ?? "")).toBe(86_400_000);
  expect(new Date(from ?? "").getHours()).toBe(0);
  expect(span(undefined, undefined)).toEqual({});
});
