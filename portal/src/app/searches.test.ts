import { expect, test } from "vitest";
import { narrowed, withAudit } from "./searches";

test("what does not fit is left out of an address", () => {
  expect(withAudit({ scope: "all", from: "yesterday", to: "2026-03-05", actor: "", more: 1 })).toEqual({
    to: "2026-03-05",
  });
});

test("the scope of one's own account is the one without a word", () => {
  expect(withAudit({ scope: "account" })).toEqual({});
  expect(withAudit({ scope: "organization", kind: "key" })).toEqual({ scope: "organization", kind: "key" });
});

test("narrowing changes one field, and no value takes it out", () => {
  expect(narrowed({ kind: "key", actor: "me" }, "kind", "app")).toEqual({ kind: "app", actor: "me" });
  expect(narrowed({ kind: "key", actor: "me" }, "kind", undefined)).toEqual({ actor: "me" });
});
