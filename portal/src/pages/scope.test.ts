import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { allowedTasks, switched, taskIDs } from "./scope";

const task = (id: string) => ({ id, name: id, description: "" });
const darwin: Schemas["CatalogFamily"] = {
  id: "darwin",
  name: "Darwin",
  description: "",
  tasks: [task("conversation"), task("vision")],
};
const biometrix: Schemas["CatalogFamily"] = {
  id: "biometrix",
  name: "Biometrix",
  description: "",
  tasks: [task("face"), task("vision")],
};

test("each task is there once", () => {
  expect(taskIDs([darwin, biometrix])).toEqual(["conversation", "vision", "face"]);
});

test("nothing named means everything, and both sides must allow", () => {
  expect(allowedTasks({ families: [], tasks: [] }, darwin)).toBe(2);
  expect(allowedTasks({ families: ["darwin"], tasks: [] }, biometrix)).toBe(0);
  expect(allowedTasks({ families: ["darwin"], tasks: ["conversation"] }, darwin)).toBe(1);
  expect(allowedTasks({ families: [], tasks: ["face"] }, darwin)).toBe(0);
});

test("switching off names what remains, and the last one stays", () => {
  expect(switched([], ["a", "b", "c"], "b")).toEqual(["a", "c"]);
  expect(switched(["a", "c"], ["a", "b", "c"], "b")).toEqual(["a", "c", "b"]);
  expect(switched(["a"], ["a", "b"], "a")).toEqual(["a"]);
  expect(switched([], ["a"], "a")).toEqual([]);
});
