import { expect, test } from "vitest";
import { fits } from "./mask";

test("an address fits its mask, another does not", () => {
  expect(fits("charles@example.com", "ch•••••@example.com")).toBe(true);
  expect(fits("Charles@Example.com", "ch•••••@example.com")).toBe(true);
  expect(fits("ada@example.com", "ch•••••@example.com")).toBe(false);
  expect(fits("charles@example.org", "ch•••••@example.com")).toBe(false);
});

test("an address that is not masked is compared as a whole", () => {
  expect(fits("a@b.c", "a@b.c")).toBe(true);
  expect(fits("aa@b.c", "a@b.c")).toBe(false);
});
