import { expect, test } from "vitest";
import { type Document, members, operations, target } from "./document";

const document: Document = {
  paths: {
    "/dev/apps/{app_id}": {
      get: {
        operationId: "getApp",
        "x-plane": "control",
        summary: "Get",
        security: [{ session: [] }],
        parameters: [
          { $ref: "#/components/parameters/AppId", name: "", in: "path" },
          { name: "days", in: "query" },
        ],
        responses: { "200": { description: "The app." } },
      },
      put: {
        operationId: "putApp",
        "x-plane": "control",
        requestBody: {
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/B" },
              examples: { a: { value: { x: 1 } } },
            },
          },
        },
      },
    },
  },
  components: {
    parameters: { AppId: { name: "app_id", in: "path", required: true } },
    schemas: {
      A: { properties: { kind: { enum: ["a", "b"], default: "a" } } },
      B: {
        allOf: [{ $ref: "#/components/schemas/A" }],
        properties: { x: { type: "integer" } },
        required: ["x"],
      },
    },
  },
};

test("operations are read with what they refer to", () => {
  const [get, put] = operations(document);
  expect([get?.method, get?.needsKey, put?.needsKey]).toEqual(["GET", true, false]);
  expect(get?.parameters.map((p) => p.name)).toEqual(["app_id", "days"]);
  expect(put?.body?.example).toBe('{\n  "x": 1\n}');
  expect(members(document, put?.body?.schema)).toEqual([
    { name: "kind", type: "a | b", required: false, about: 'Default "a".' },
    { name: "x", type: "integer", required: true, about: "" },
  ]);
});

test("addresses hold what was given, escaped", () => {
  const [get] = operations(document);
  if (!get) throw new Error("no operation");
  expect(target("http://h", get, { app_id: "a/b", days: "7" })).toBe("http://h/dev/apps/a%2Fb?days=7");
  expect(target("http://h", get, { app_id: "a" })).toBe("http://h/dev/apps/a");
});
