import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Collects console errors, page errors and requests that leave this machine. */
export function watch(page: Page): string[] {
  const troubles: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error") troubles.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => troubles.push(`page: ${e.message}`));
  page.on("request", (r) => {
    const url = new URL(r.url());
    const here =
      ["127.0.0.1", "localhost"].includes(url.hostname) || ["blob:", "data:"].includes(url.protocol);
    if (!here) troubles.push(`outside request: ${r.url()}`);
  });
  return troubles;
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];

/** Accessibility findings of the page as it stands: by every rule, or by the ones that are named. */
export async function findings(page: Page, rules = everyRule): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  return page.evaluate(async (runOnly) => {
    // @ts-expect-error axe was injected just now
    const result = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
    return result.violations.map(
      (v: { id: string; nodes: { html: string }[] }) => `${v.id}: ${v.nodes[0]?.html}`,
    );
  }, rules);
}

/** Goes to a page of the portal and waits until nothing loads any more. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(`/dev/#${path}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
}

/** Creates an account, lands on the overview and returns its address. */
export async function register(page: Page, name: string): Promise<string> {
  await open(page, "/sign-up");
  const form = page.getByRole("form", { name: "Create an account" });
  await form.getByLabel("Name").fill(name);
  const email = `${name.split(" ")[0]?.toLowerCase()}-${Date.now()}@example.com`;
  await form.getByLabel("E-mail").fill(email);
  await form.getByLabel("Password").fill("correct horse battery");
  await form.getByRole("button").click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Hello");
  return email;
}

/** The quick start's app and key. */
export async function quickStart(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Create a test app" }).click();
  await page.getByRole("button", { name: "Create a key" }).click();
  await expect(page.getByText("Your key is in it")).toBeVisible();
}
