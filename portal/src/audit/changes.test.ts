import { expect, test } from "vitest";
import { changes, operationName } from "./changes";

test("only what differs is a change", () => {
  expect(changes({ name: "Bot", active: true }, { name: "Bot", active: false })).toEqual([
    { field: "active", before: "true", after: "false" },
  ]);
});

test("what came and what went is shown as a whole", () => {
  expect(changes(null, { name: "Bot" })).toEqual([{ field: "name", before: undefined, after: "Bot" }]);
  expect(changes({ name: "Bot" }, null)).toEqual([{ field: "name", before: "Bot", after: undefined }]);
  expect(changes(null, null)).toEqual([]);
});

test("lists are compared by what is in them", () => {
  expect(changes({ tasks: ["a"] }, { tasks: ["a"] })).toEqual([]);
  expect(changes({ tasks: ["a"] }, { tasks: ["a", "b"] })).toEqual([
    { field: "tasks", before: '["a"]', after: '["a","b"]' },
  ]);
});

test("null is a value, not a missing field", () => {
  expect(changes({ expires_at: null }, { expires_at: "2026-01-01" })).toEqual([
    { field: "expires_at", before: "null", after: "2026-01-01" },
  ]);
});

test("operations read as words", () => {
  expect(operationName("revokeKey")).toBe("revoke key");
  expect(operationName("loginWithTOTP")).toBe("login with totp");
});
