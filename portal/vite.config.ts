import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { toControlPlane } from "./dev/proxy.ts";
import { guideOf } from "./docs/markdown.ts";

const controlPlane = process.env.CONTROL_PLANE ?? "http://127.0.0.1:8080";
const here = import.meta.dirname;
const pagesIn = (dir: string) =>
  readdirSync(join(here, dir))
    .filter((name) => name.endsWith(".html"))
    .map((name) => join(here, dir, name));

/** Demo pages load the SDK from where everybody loads it. In development it is its source. */
function servedSDK(): Plugin {
  return {
    name: "served-sdk",
    enforce: "pre",
    apply: "build",
    resolveId: (id) => (id === "@modelgate/sdk" ? { id: "/dev/sdk/modelgate.js", external: true } : null),
  };
}

/** The list of the demos, which the control plane reads. */
function manifest(): Plugin {
  return {
    name: "demo-manifest",
    apply: "build",
    generateBundle() {
      const source = readFileSync(join(here, "demos/manifest.json"));
      this.emitFile({ type: "asset", fileName: "demos/manifest.json", source });
    },
  };
}

/** The guides as HTML: the page that shows them holds no Markdown reader. Their titles alone are for the palette. */
function guides(): Plugin {
  const dir = join(here, "docs/guides");
  const all = () =>
    readdirSync(dir)
      .sort()
      .map((name) => guideOf(name, readFileSync(join(dir, name), "utf8")));
  return {
    name: "guides",
    resolveId: (id) => (id === "virtual:guides" || id === "virtual:guide-titles" ? `\0${id}` : null),
    load(id) {
      if (id === "\0virtual:guides") return `export const guides = ${JSON.stringify(all())};`;
      if (id !== "\0virtual:guide-titles") return null;
      return `export const guideTitles = ${JSON.stringify(all().flatMap((g) => g.sections.map((s) => ({ id: s.id, title: s.id === g.id ? g.title : `${g.title}: ${s.title}` }))))};`;
    },
  };
}

// The bundle is embedded in the control plane, which serves it below /dev/. Pages are addressed behind a # because the paths
// below /dev/ are operations of the API. The policy of the page allows no inline script, style or data: file, so nothing is inlined.
export default defineConfig({
  base: "/dev/",
  plugins: [servedSDK(), react(), tailwind(), manifest(), guides()],
  resolve: { alias: { "@modelgate/sdk": join(here, "sdk/js/modelgate.ts") } },
  build: {
    outDir: "../controlplane/internal/web/dist",
    emptyOutDir: true,
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: [...pagesIn("."), ...pagesIn("demos")] },
  },
  server: {
    proxy: {
      [toControlPlane(readFileSync(join(here, "../shared/api/openapi.yaml"), "utf8"))]: controlPlane,
      "/api": controlPlane,
    },
  },
});
