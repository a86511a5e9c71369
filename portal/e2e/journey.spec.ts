import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page, test } from "@playwright/test";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails the test on console errors, page errors and requests that leave this machine. */
function watch(page: Page): string[] {
  const troubles: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error") troubles.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => troubles.push(`page: ${e.message}`));
  page.on("request", (r) => {
    const host = new URL(r.url()).hostname;
    if (host !== "127.0.0.1" && host !== "localhost") troubles.push(`outside request: ${r.url()}`);
  });
  return troubles;
}

/** Serious accessibility findings of the page as it stands. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    // @ts-expect-error axe was injected just now
    const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] });
    return result.violations.map(
      (v: { id: string; nodes: { html: string }[] }) => `${v.id}: ${v.nodes[0]?.html}`,
    );
  });
}

for (const scheme of ["light", "dark"] as const) {
  test(`a newcomer streams an answer, ${scheme}`, async ({ page }) => {
    const troubles = watch(page);
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize(
      scheme === "light" ? { width: 1280, height: 800 } : { width: 390, height: 844 },
    );
    await page.goto("/dev/");
    expect(await findings(page)).toEqual([]);
    await page.screenshot({ path: `artifacts/signin-${scheme}.png`, fullPage: true });

    const register = page.getByRole("form", { name: "Create an account" });
    await register.getByLabel("Name").fill("Ada Newcomer");
    await register.getByLabel("E-mail").fill(`ada-${scheme}-${Date.now()}@example.com`);
    await register.getByLabel("Password").fill("correct horse battery");
    await register.getByRole("button").click();

    await page.getByLabel("Name of the app").fill("My first app");
    await page.getByRole("button", { name: "Create app" }).click();
    await page.getByRole("button", { name: "New key" }).click();
    await expect(page.locator(".secret")).toHaveText(/^svc_test_[0-9A-Za-z]{51}$/);
    const key = await page.locator(".secret").innerText();

    await page.getByRole("button", { name: "Stream the answer" }).click();
    await expect(page.locator(".answer")).toContainText("Simulated answer", { timeout: 15_000 });
    await expect(page.getByText("Answered by the simulator, not by a model.")).toBeVisible();
    expect(await findings(page)).toEqual([]);
    await page.screenshot({ path: `artifacts/app-${scheme}.png`, fullPage: true });

    // The raw key is shown once and stored nowhere.
    await page.getByRole("button", { name: "Revoke" }).waitFor();
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    expect(stored).not.toContain(key);

    page.once("dialog", (d) => d.accept());
    await page.getByRole("button", { name: "Revoke" }).click();
    await expect(page.locator(".keys")).toContainText("revoked");
    expect(troubles).toEqual([]);
  });
}

test("a wrong password says what is wrong and keeps what was typed", async ({ page }) => {
  await page.goto("/dev/");
  const login = page.getByRole("form", { name: "Sign in" });
  await login.getByLabel("E-mail").fill("nobody@example.com");
  await login.getByLabel("Password").fill("not the password");
  await login.getByRole("button").click();
  await expect(login.getByRole("alert")).not.toBeEmpty();
  await expect(login.getByLabel("E-mail")).toHaveValue("nobody@example.com");
});
