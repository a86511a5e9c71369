import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { type CDPSession, expect, type Page, test } from "@playwright/test";
import { findings, open, quickStart, register, watch } from "./page";
import { mailedLink } from "./world";

const run = promisify(execFile);

/** The status with which the gateway answers a key. */
async function status(page: Page, key: string): Promise<number> {
  const gateway = await page.locator("meta[name=modelgate-gateway]").getAttribute("content");
  const headers = { Authorization: `Bearer ${key}` };
  return (await page.request.get(`${gateway}/api/v1/models`, { headers })).status();
}

test("a newcomer gets an app, a key, an answer, and ends the key", async ({ page }) => {
  const troubles = watch(page);
  const answers: string[] = []; // bodies of what the portal reads in lists
  page.on("response", async (r) => {
    if (/\/dev\/apps(\/[^/]+)?$/.test(new URL(r.url()).pathname) && r.request().method() === "GET")
      answers.push(await r.text().catch(() => ""));
  });
  await page.goto("/dev/");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  const begun = Date.now();
  const email = await register(page, "Ada Newcomer");

  // The address is confirmed by the mail that arrived.
  await open(page, await mailedLink(email, /confirm/i));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("link", { name: "To the portal" }).click();
  await expect(page.getByText("is not confirmed yet")).toHaveCount(0);
  await quickStart(page);
  const shown = await page.locator("pre").first().innerText();
  const key = /svc_test_[0-9A-Za-z]{51}/.exec(shown)?.[0] ?? "";
  expect(key).not.toBe("");

  // The snippets are programs, and they work as they are shown.
  const dir = mkdtempSync(join(tmpdir(), "snippet-"));
  for (const [language, program, file] of [
    ["curl", "bash", "call.sh"],
    ["Python", "python3", "call.py"],
    ["JavaScript", "node", "call.mjs"],
  ] as const) {
    await page.getByRole("tab", { name: language }).click();
    writeFileSync(join(dir, file), await page.getByRole("tabpanel").locator("code").innerText());
    const { stdout } = await run(program, [join(dir, file)]);
    expect(stdout, language).toMatch(language === "curl" ? /"type":"delta".*\[DONE\]/s : /Simulated answer/);
  }

  console.log(`from nothing to three answered programs: ${((Date.now() - begun) / 1000).toFixed(1)} s`);

  // The calls show on the usage page within seconds.
  const called = Date.now();
  await open(page, "/usage");
  await expect(page.locator("dl dd").first()).toContainText("3");
  console.log(`the calls show in usage after ${((Date.now() - called) / 1000).toFixed(1)} s`);

  // The playground streams, piece by piece.
  await open(page, "/playground");
  const message = page.getByLabel("Your message");
  await message.fill("[[scenario:many-tokens n=60 delay=50ms]]");
  await page.getByRole("button", { name: "Send" }).click();
  const answer = page.getByLabel("Answer", { exact: true });
  await expect(answer).not.toBeEmpty();
  const early = (await answer.innerText()).length;
  await expect(page.getByRole("button", { name: "Copy answer" })).toBeVisible({ timeout: 20_000 });
  expect((await answer.innerText()).length).toBeGreaterThan(early);
  await expect(page.getByText("Answered by the simulator, not by a model.")).toBeVisible();
  await expect(page.getByText(/tokens\/s/)).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await page.screenshot({ path: "artifacts/e2e/journey-playground.png", fullPage: true });

  // Stop ends a stream that would go on for a minute.
  await message.fill("[[scenario:many-tokens n=3000 delay=20ms]]");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText(/^[0-9]+ tokens$/).nth(1)).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("stopped", { exact: true })).toBeVisible();

  // The raw key is stored nowhere, and no list answers with it.
  const stored = await page.evaluate(() =>
    JSON.stringify([
      { ...localStorage },
      { ...sessionStorage },
      document.cookie,
      document.documentElement.outerHTML,
    ]),
  );
  expect(stored).not.toContain(key);
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.join()).not.toContain(key);

  // Reveal, regenerate, revoke with the gateway's receipt.
  await open(page, "/apps");
  await page.getByRole("link", { name: "My first app" }).click();
  await page.getByRole("button", { name: /^Show / }).click();
  await expect(page.getByRole("dialog").locator("pre").first()).toHaveText(key);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: /^Rotate / }).click();
  await page.getByRole("radio", { name: /^1 hour/ }).check();
  expect(await findings(page)).toEqual([]);
  await page.screenshot({ path: "artifacts/e2e/journey-rotate.png" });
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  const fresh = page.getByRole("dialog", { name: "The new value of the key" });
  await expect(fresh.getByText(/^The value before works until/)).toBeVisible();
  const rotated = await fresh.locator("pre").first().innerText();
  expect(rotated).not.toBe(key);
  expect(await findings(page)).toEqual([]);
  await page.screenshot({ path: "artifacts/e2e/journey-key.png" });
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(/is active on 1\/1 node, \d+ ms/)).toBeVisible();
  expect([await status(page, key), await status(page, rotated)]).toEqual([200, 200]);

  // Revoked: the receipt tells how far it is, and from then on no value of the key is answered.
  await page.getByRole("button", { name: /^Revoke / }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText(/is revoked on 1\/1 node, \d+ ms/)).toBeVisible();
  expect([await status(page, key), await status(page, rotated)]).toEqual([401, 401]);
  await page.getByText("One revoked key").click();
  await page.screenshot({ path: "artifacts/e2e/journey-revoked.png", fullPage: true });

  // The session outlives a reload through the cookie alone, and sign-out ends it.
  await page.reload();
  await expect(page.getByText("One revoked key")).toBeVisible();
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  expect(troubles).toEqual([]);
});

test("the first page needs at most 180 kB of JavaScript", async ({ page }) => {
  await register(page, "Light Weight");
  await expect(page.getByRole("button", { name: "Create a test app" })).toBeVisible();
  const urls = new Set<string>();
  page.on("response", (r) => {
    if (r.url().endsWith(".js")) urls.add(r.url());
  });
  await page.reload();
  await expect(page.getByRole("button", { name: "Create a test app" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Account" })).toBeVisible();
  await page.waitForLoadState("networkidle");
  let total = 0;
  for (const url of urls) total += gzipSync(await (await page.request.get(url)).body()).length;
  console.log(`first load: ${urls.size} files, ${(total / 1000).toFixed(1)} kB of JavaScript with gzip`);
  expect(urls.size).toBeGreaterThan(3);
  expect(total).toBeLessThan(180_000);
});

/** CPU time of the page's thread so far, in ms. */
async function spent(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return (metrics.find((m) => m.name === "TaskDuration")?.value ?? 0) * 1000;
}

test("of an answer of 40,000 tokens only the end is drawn again", async ({ page }) => {
  await register(page, "Long Reader");
  await quickStart(page);
  await open(page, "/playground");
  await page.getByLabel("Most tokens").fill("100000");
  await page.getByLabel("Your message").fill("[[scenario:many-tokens n=40000 delay=0s]]");
  // Which texts change while the answer grows, and how long they are: that is the work that a token makes.
  await page.evaluate(() => {
    const seen = { blocks: 0, longest: 0, settled: 0 };
    new MutationObserver((records) => {
      for (const { type, target } of records) {
        const block = target instanceof Text ? target.parentElement : (target as Element);
        if (!block?.closest("output")) continue;
        if (type === "childList") seen.blocks++;
        if (type !== "characterData") continue;
        seen.longest = Math.max(seen.longest, target.nodeValue?.length ?? 0);
        if (block.nextElementSibling?.textContent) seen.settled++;
      }
    }).observe(document.body, { characterData: true, childList: true, subtree: true });
    Object.assign(window, { seen });
  });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await spent(cdp);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("button", { name: "Copy answer" })).toBeVisible({ timeout: 150_000 });
  await expect(page.getByText("40000 tokens")).toBeVisible();
  console.log(`CPU a token: ${((((await spent(cdp)) - before) * 1000) / 40_000).toFixed(0)} µs`);
  const seen = await page.evaluate(
    () => Reflect.get(window, "seen") as { blocks: number; longest: number; settled: number },
  );
  expect(seen.blocks).toBeGreaterThan(0);
  expect(seen.settled).toBe(0);
  expect(seen.longest).toBeLessThan(3_000); // characters
});

test("a wrong password says what is wrong and keeps what was typed", async ({ page }) => {
  await open(page, "/sign-in");
  const login = page.getByRole("form", { name: "Sign in" });
  await login.getByLabel("E-mail").fill("nobody@example.com");
  await login.getByLabel("Password").fill("not the password");
  await login.getByRole("button").click();
  await expect(login.getByRole("alert")).not.toBeEmpty();
  await expect(login.getByLabel("E-mail")).toHaveValue("nobody@example.com");
});
