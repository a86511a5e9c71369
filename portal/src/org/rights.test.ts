import { expect, test } from "vitest";
import { givable, may, mayTouch } from "./rights";

test("without an organization everything of one's own is allowed", () => {
  expect(may(undefined, "changeApps")).toBe(true);
});

test("viewers and billing change no apps, developers manage nobody", () => {
  expect(may("viewer", "changeApps")).toBe(false);
  expect(may("billing", "changeApps")).toBe(false);
  expect(may("developer", "changeApps")).toBe(true);
  expect(may("developer", "manage")).toBe(false);
});

test("only owners make owners", () => {
  expect(givable("owner")).toContain("owner");
  expect(givable("admin")).toEqual(["admin", "developer", "billing", "viewer"]);
});

test("the last owner stays, and admins touch no owner", () => {
  const owner = { role: "owner" } as const;
  const viewer = { role: "viewer" } as const;
  expect(mayTouch("owner", owner, [owner, viewer])).toBe(false);
  expect(mayTouch("owner", owner, [owner, owner])).toBe(true);
  expect(mayTouch("admin", owner, [owner, owner])).toBe(false);
  expect(mayTouch("admin", viewer, [owner, viewer])).toBe(true);
  expect(mayTouch("developer", viewer, [owner, viewer])).toBe(false);
});
