import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { taskRows, toggled, verdict } from "./scope";

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

test("each task has one row", () => {
  expect(taskRows([darwin, biometrix]).map((t) => t.id)).toEqual(["conversation", "vision", "face"]);
});

test("nothing chosen means everything, and both sides must allow", () => {
  expect(verdict({ families: [], tasks: [] }, darwin, "vision")).toBe("allowed");
  expect(verdict({ families: ["darwin"], tasks: [] }, biometrix, "vision")).toBe("refused");
  expect(verdict({ families: ["darwin"], tasks: ["conversation"] }, darwin, "vision")).toBe("refused");
  expect(verdict({ families: ["darwin"], tasks: ["vision"] }, darwin, "vision")).toBe("allowed");
  expect(verdict({ families: [], tasks: [] }, darwin, "face")).toBe("none");
});

test("toggling twice changes nothing", () => {
  expect(toggled(toggled(["a"], "b"), "b")).toEqual(["a"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
});
