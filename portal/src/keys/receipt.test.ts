import { expect, test } from "vitest";
import { reached } from "./receipt";

const node = (name: string, ms: number) => ({ name, version: 7, ms });

test("a whole receipt counts the nodes and names the slowest", () => {
  expect(
    reached({
      complete: true,
      waited_ms: 140,
      nodes: [node("a", 38), node("b", 140), node("c", 12)],
      missing: [],
    }),
  ).toEqual({
    complete: true,
    text: "on 3/3 nodes, 140 ms",
  });
});

test("nodes that lack it are named, with what that means", () => {
  const got = reached({
    complete: false,
    waited_ms: 2000,
    nodes: [node("a", 38)],
    missing: [
      { name: "b", live: true },
      { name: "c", live: false },
    ],
  });
  expect(got).toEqual({
    complete: false,
    text: "on 1/3 nodes, 38 ms; b has not confirmed yet; c cannot be reached and takes it up when back",
  });
});

test("no receipt is no confirmation", () => {
  expect(reached(undefined).complete).toBe(false);
  expect(reached({ complete: true, waited_ms: 140, nodes: [], missing: [] })).toEqual({
    complete: false,
    text: "No node of the gateway is running.",
  });
  expect(
    reached({ complete: false, waited_ms: 2000, nodes: [], missing: [], detail: "the streams are unknown" })
      .text,
  ).toBe("the streams are unknown");
});
