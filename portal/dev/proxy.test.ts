import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import config from "../vite.config";
import { bundled, pathsOf } from "./proxy";

const portal = join(import.meta.dirname, "..");
const document = readFileSync(join(portal, "../shared/api/openapi.yaml"), "utf8");

/** Whether the development server passes an address on, by the rules of Vite: a key that begins with ^ is a pattern. */
const passes = (url: string) =>
  Object.keys(config.server?.proxy ?? {}).some((key) =>
    key.startsWith("^") ? new RegExp(key).test(url) : url.startsWith(key),
  );

test("every operation of the portal reaches the control plane", () => {
  const paths = pathsOf(document);
  expect(paths.length).toBeGreaterThan(70);
  const lost = paths
    .filter((path) => !bundled.includes(path))
    .map((path) => path.replaceAll(/\{\w+\}/g, "7q2v9x3d"))
    .filter((path) => !passes(path) || !passes(`${path}?days=1`));
  expect(lost).toEqual([]);
});

test("the files of the bundle are in the contract", () => {
  expect(bundled.filter((path) => !pathsOf(document).includes(path))).toEqual([]);
});

test("what Vite serves stays with Vite", () => {
  const sources = ["src", "demos", "docs", "explorer", "sdk"].flatMap((dir) =>
    readdirSync(join(portal, dir), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `/dev/${relative(portal, join(entry.parentPath, entry.name))}`),
  );
  const own = [
    "/dev/",
    "/dev/?x=1",
    "/dev/index.html",
    "/dev/docs.html",
    "/dev/explorer.html",
    "/dev/icon.svg",
  ];
  const tools = ["/dev/@vite/client", "/dev/@react-refresh", "/dev/node_modules/.vite/deps/react.js?v=1"];
  expect([...sources, ...own, ...tools].filter(passes)).toEqual([]);
});
