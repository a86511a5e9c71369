import { expect, test } from "vitest";
import { withAudit } from "./searches";

test("what does not fit is left out of an address", () => {
  expect(withAudit({ scope: "all", from: "yesterday", to: "2026-03-05", actor: "", more: 1 })).toEqual({
    to: "2026-03-05",
  });
});

test("the scope of one's own account is the one without a word", () => {
  expect(withAudit({ scope: "account" })).toEqual({});
  expect(withAudit({ scope: "organization", kind: "key" })).toEqual({ scope: "organization", kind: "key" });
});
