import { expect, test } from "vitest";
import { matching } from "./matching";

const labels = ["Overview", "Apps and keys", "Darwin tokens", "Usage", "Limits"];
const find = (wanted: string) => matching(labels, wanted, (l) => l);

test("beginnings come before words, words before scattered letters", () => {
  expect(find("")).toEqual(labels);
  expect(find("US")).toEqual(["Usage"]);
  expect(find("key")).toEqual(["Apps and keys"]);
  expect(find("dt")).toEqual(["Darwin tokens"]);
  expect(find("t")).toEqual(["Darwin tokens", "Limits"]);
});

test("letters that are not there find nothing", () => {
  expect(find("zz")).toEqual([]);
  expect(find("egasu")).toEqual([]);
});
