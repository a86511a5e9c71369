// Builds the SDK into the bundle's sdk/: modelgate.js, which imports nothing, and its types.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const portal = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(portal, "sdk/js");
const types = join(portal, "test-results/sdk-types");
const out = process.argv[2] ?? join(portal, "../controlplane/internal/web/dist/sdk");

await build({
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2022",
    minify: false,
    lib: { entry: join(source, "modelgate.ts"), formats: ["es"], fileName: () => "modelgate.js" },
  },
});

rmSync(types, { recursive: true, force: true });
execFileSync(process.execPath, [join(portal, "node_modules/typescript/bin/tsc"), "-p", source], {
  stdio: "inherit",
});
mkdirSync(out, { recursive: true });
for (const name of readdirSync(join(types, "sdk/js")).filter((n) => n.endsWith(".d.ts"))) {
  const text = readFileSync(join(types, "sdk/js", name), "utf8");
  writeFileSync(join(out, name), text.replaceAll("../../src/api/contract.gen.js", "./contract.js"));
}
// A declaration file is not emitted for a .ts file's types alone when it is not included, so the contract's is its source.
copyFileSync(join(portal, "src/api/contract.gen.ts"), join(out, "contract.d.ts"));
copyFileSync(join(source, "README.md"), join(out, "README.md"));
