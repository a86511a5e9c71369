import { readFileSync } from "node:fs";
import { expect, type Page, test } from "@playwright/test";
import { findings, open, register, watch } from "./page";

// One developer goes through all of it, and the account is deleted at the end.
test.describe.configure({ mode: "serial" });

const password = "correct horse battery";

let page: Page;
let email = "";
let app = "";
let troubles: string[] = [];

test.beforeAll(async ({ browser }) => {
  page = await browser.newPage({ reducedMotion: "reduce" });
  troubles = watch(page);
  email = await register(page, "Kay Keyboard");
});
test.afterAll(() => page.close());
test.afterEach(() => expect(troubles.splice(0)).toEqual([]));

async function signIn(on: Page): Promise<void> {
  await open(on, "/sign-in");
  const login = on.getByRole("form", { name: "Sign in" });
  await login.getByLabel("E-mail").fill(email);
  await login.getByLabel("Password").fill(password);
  await login.getByRole("button").click();
  await expect(on.getByRole("heading", { level: 1 })).toContainText("Hello");
}

/** What has the focus, by its name or its text. */
const focused = () =>
  page.evaluate(() => {
    const at = document.activeElement;
    return at?.getAttribute("aria-label") ?? at?.textContent?.trim() ?? "";
  });

/** Goes on with Tab until what has that name has the focus. */
async function tabTo(name: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const at = await focused();
    if (name.test(at)) return;
    passed.push(at);
  }
  throw new Error(`Tab does not come to ${name}, but to ${passed.join(" | ")}`);
}

async function press(name: RegExp): Promise<void> {
  await tabTo(name);
  await page.keyboard.press("Enter");
}

test("the palette goes to a page by a part of its name, and Escape gives the focus back", async () => {
  await page.keyboard.press("Control+k");
  const wanted = page.getByRole("combobox", { name: "Page, app or action" });
  await expect(wanted).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(wanted).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("zzz");
  await expect(page.getByText("Nothing has that name.")).toBeVisible();
  await wanted.fill("dark");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("apps");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Apps and keys" })).toBeVisible();
});

test("an app and a key are made, copied and revoked without a mouse", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await press(/^(New app|Create your first app)$/);
  const making = page.getByRole("form", { name: "New app" });
  await expect(making).toBeVisible();
  await making.getByLabel("Name").focus();
  await page.keyboard.type("By hand");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "By hand" })).toBeVisible();
  app = /#\/apps\/([^/?]+)/.exec(page.url())?.[1] ?? "";

  await press(/^New key$/);
  const fresh = page.getByRole("dialog", { name: "Your new key" });
  const value = await fresh.locator("pre").first().innerText();
  await press(/^Copy/);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(value);
  await press(/^Done$/);
  await expect(fresh).toHaveCount(0);

  await press(/^Revoke svc_test_/);
  await press(/^Revoke$/);
  await expect(page.getByText(/is revoked on 1\/1 node/)).toBeVisible();
});

test("nothing moves for those who asked for that", async () => {
  const moving = await page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    return document.getAnimations().map((a) => a.effect?.getComputedTiming().duration);
  });
  expect(moving.filter((ms) => Number(ms) > 1)).toEqual([]);
  const shimmer = () =>
    page.evaluate(() => {
      const probe = document.createElement("i");
      probe.className = "animate-shimmer";
      document.body.append(probe);
      const lasts = getComputedStyle(probe).animationDuration;
      probe.remove();
      return Number.parseFloat(lasts);
    });
  expect(await shimmer()).toBeLessThan(0.001);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await shimmer()).toBeGreaterThan(0.1);
  await page.emulateMedia({ reducedMotion: "reduce" });
});

test("the log tells of a call everything that is kept", async () => {
  const gateway = await page.locator("meta[name=modelgate-gateway]").getAttribute("content");
  await press(/^New key$/);
  const fresh = page.getByRole("dialog", { name: "Your new key" });
  const key = await fresh.locator("pre").first().innerText();
  await fresh.getByRole("button", { name: "Done" }).click();
  const headers = { Authorization: `Bearer ${key}` };
  const data = { prompt: "Hello", model: "Newton" };
  const answer = await page.request.post(`${gateway}/api/v1/agent`, { headers, data });
  expect(answer.status()).toBe(404);
  await open(page, `/apps/${app}/log`);
  await page.getByRole("button", { name: /^Details of / }).click();
  const details = page.getByRole("dialog", { name: "A call" });
  await expect(details.getByText(answer.headers()["x-request-id"] ?? "no id")).toBeVisible();
  await expect(details.getByText("404", { exact: true })).toBeVisible();
  await expect(details).not.toContainText(key);
  expect(await findings(page)).toEqual([]);
  await details.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Status").selectOption("2xx");
  await expect(page.getByText("No call fits the filter")).toBeVisible();
});

test("the audit log is saved as CSV, and a record tells what changed", async () => {
  await open(page, "/audit?kind=key");
  await page
    .getByRole("button", { name: /^Details of record/ })
    .first()
    .click();
  const details = page.getByRole("dialog");
  await expect(
    details
      .getByText("createKey")
      .or(details.getByText(/create key/i))
      .first(),
  ).toBeVisible();
  await details.getByRole("button", { name: "Close" }).click();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  const file = await saved;
  expect(file.suggestedFilename()).toBe("audit.csv");
  const lines = readFileSync((await file.path()) ?? "", "utf8")
    .trim()
    .split("\n");
  expect(lines[0]).toContain("operation");
  expect(lines.slice(1).map((l) => /createKey|revokeKey/.exec(l)?.[0])).toEqual([
    "createKey",
    "revokeKey",
    "createKey",
  ]);
});

test("without a network the page says so, and a page that breaks can be tried again", async () => {
  await page.context().setOffline(true);
  await expect(page.getByText("You are offline.")).toBeVisible();
  await page.context().setOffline(false);
  await expect(page.getByText("You are offline.")).toHaveCount(0);

  await page.route("**/dev/usage*", (route) =>
    route.fulfill({ status: 500, json: { detail: "The database is on fire." } }),
  );
  await page.goto("/dev/#/usage");
  await expect(page.getByText("The database is on fire.").first()).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await page.screenshot({ path: "artifacts/e2e/error-500.png", fullPage: true });
  await page.unroute("**/dev/usage*");
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(page.getByText("The database is on fire.")).toHaveCount(0);

  // A part of the portal that does not arrive, as after an update.
  await page.route("**/dev/assets/images-*.js", (route) => route.fulfill({ status: 500 }));
  await page.reload(); // the links that had the focus have loaded their pages
  await page.goto("/dev/#/images");
  await expect(page.getByRole("heading", { name: "This page could not be loaded" })).toBeVisible();
  await page.screenshot({ path: "artifacts/e2e/error-not-loaded.png", fullPage: true });
  await page.unroute("**/dev/assets/images-*.js");
  await page.getByRole("button", { name: "Load again" }).click();
  await expect(page.getByRole("heading", { name: "This page could not be loaded" })).toHaveCount(0);
  troubles = troubles.filter((t) => !/500|Failed to fetch dynamically|ERR_INTERNET_DISCONNECTED/.test(t));
});

test("ending a session signs that browser out", async ({ browser }) => {
  const context = await browser.newContext();
  const other = await context.newPage();
  await signIn(other);
  await open(page, "/settings");
  await page.getByRole("button", { name: "End", exact: true }).click();
  await expect(page.getByText("The session has ended.")).toBeVisible();
  await other.goto("/dev/#/darwin-tokens"); // the next thing that it asks for
  await expect(other.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await context.close();
  await open(page, "/apps"); // this one goes on
  await expect(page.getByRole("heading", { name: "Apps and keys" })).toBeVisible();
});

test("the account is taken along, deleted, and taken back within seven days", async () => {
  await open(page, "/settings");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const all = readFileSync((await (await saved).path()) ?? "", "utf8");
  expect(all).toContain(email);
  expect(all).toContain("By hand");
  expect(all).not.toMatch(/svc_test_[0-9A-Za-z]{20}/);

  await page.getByRole("button", { name: "Delete the account" }).click();
  const asked = page.getByRole("dialog", { name: "Delete the account?" });
  await asked.getByLabel("Your password").fill(password);
  await asked.getByRole("button", { name: "Delete the account" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await signIn(page);
  await expect(page.getByText(/is removed on/)).toBeVisible();
  await page.screenshot({ path: "artifacts/e2e/account-deleted.png", fullPage: true });
  await page.getByRole("button", { name: "Keep the account" }).click();
  await expect(page.getByText("The account stays.")).toBeVisible();
  await expect(page.getByText(/is removed on/)).toHaveCount(0);
});
