import { defineConfig } from "vite";

// The bundle is embedded in the control plane, which serves it below /dev/.
export default defineConfig({
  base: "/dev/",
  build: {
    outDir: "../controlplane/internal/web/dist",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/dev/auth": "http://127.0.0.1:8080", "/dev/apps": "http://127.0.0.1:8080" } },
});
