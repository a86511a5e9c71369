import { expect, test } from "vitest";
import { why } from "./why";

test("a call that went well needs no explanation", () => {
  expect(why({ status: 200, end: "done" })).toBeUndefined();
});

test("a limit is explained, with when to come back", () => {
  expect(why({ status: 429, end: "refused" })).toContain("Retry-After");
});

test("a stream that broke is told from one that its caller left", () => {
  expect(why({ status: 200, end: "upstream_cut" })).toContain("broke off");
  expect(why({ status: 200, end: "client_gone" })).toContain("left");
});

test("an unknown status falls back on how the call ended", () => {
  expect(why({ status: 499, end: "client_gone" })).toContain("left");
});
