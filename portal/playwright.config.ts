import { defineConfig } from "@playwright/test";

// The browser is the system's Chromium: the test runner's own download is not needed. The stack under test is started by
// bench/journey, which sets PORTAL_URL.
export default defineConfig({
  testDir: "e2e",
  outputDir: "artifacts/e2e",
  reporter: [["list"]],
  workers: 2, // files are independent: each registers its own developers
  timeout: 240_000,
  expect: { timeout: 20_000 }, // the machine that runs the tests runs everything else, too
  use: {
    baseURL: process.env.PORTAL_URL ?? "http://127.0.0.1:8080",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--use-fake-device-for-media-stream", // a camera that shows a moving disc, a microphone that beeps
        "--use-fake-ui-for-media-stream",
      ],
    },
  },
});
