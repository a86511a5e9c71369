import { type APIResponse, expect, type Page, test } from "@playwright/test";
import { findings, open, quickStart, register, watch } from "./page";

const before = [
  { name: "sign-in", path: "/sign-in" },
  { name: "sign-up", path: "/sign-up" },
  { name: "forgot-password", path: "/forgot-password" },
  { name: "reset-password", path: "/reset-password?token=abc" },
  { name: "verify-email", path: "/verify-email?token=abc" },
  { name: "invite-not-whole", path: "/invite" },
];
const empty = [
  { name: "overview-new", path: "/" },
  { name: "apps-empty", path: "/apps" },
  { name: "playground-empty", path: "/playground" },
  { name: "log-empty", path: "/log" },
  { name: "limits-empty", path: "/limits" },
];
const watching = [
  { name: "overview", path: "/" },
  { name: "apps", path: "/apps" },
  { name: "app-keys", path: "/apps/$app" },
  { name: "app-usage", path: "/apps/$app/usage" },
  { name: "app-scope", path: "/apps/$app/scope" },
  { name: "app-log", path: "/apps/$app/log" },
  { name: "app-settings", path: "/apps/$app/settings" },
  { name: "usage-compared", path: "/usage?days=7&compare=true" },
  { name: "log", path: "/log" },
];
const account = [
  { name: "darwin-tokens", path: "/darwin-tokens" },
  { name: "organization", path: "/organization" },
  { name: "audit", path: "/audit" },
  { name: "billing", path: "/billing" },
  { name: "demos", path: "/demos" },
  { name: "models", path: "/models" },
  { name: "images", path: "/images" },
  { name: "settings", path: "/settings" },
  { name: "not-found", path: "/no-such-page" },
];
const modes = ["search", "translate", "speech", "biometrix", "space", "skills"];
const demos = ["multilingual", "enrolment", "documents", "kanban"];
const schemes = ["light", "dark"] as const;
const widths = [390, 1280];

test.describe.configure({ mode: "serial", timeout: 300_000 });

let page: Page;
let troubles: string[] = [];
const wrong: string[] = []; // what is found is reported at the end, so that one page does not hide the others
let checked = 0;
let key = "";
let app = "";

/** What the pages read of the portal's operations. None needs the value of a key. */
const read: { url: string; text: string }[] = [];

test.beforeAll(async ({ browser }) => {
  page = await browser.newPage({ reducedMotion: "reduce" });
  troubles = watch(page);
  page.on("response", async (r) => {
    const { pathname } = new URL(r.url());
    if (r.request().method() !== "GET" || !pathname.startsWith("/dev/")) return;
    if (r.headers()["content-type"]?.startsWith("application/json"))
      read.push({ url: pathname, text: await r.text().catch(() => "") });
  });
});
test.afterAll(() => page.close());

/** Looks at the page as it stands: both themes, both widths. */
async function look(name: string): Promise<void> {
  for (const scheme of schemes) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 844 });
      const at = `${name}, ${scheme} at ${width}`;
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) wrong.push(`${at}: ${wide} px too wide`);
      // The other theme changes nothing but colours.
      for (const f of await findings(page, scheme === "light" ? undefined : ["color-contrast"]))
        wrong.push(`${at}: ${f}`);
      await page.screenshot({ path: `artifacts/e2e/${name}-${scheme}-${width}.png`, fullPage: true });
      checked++;
    }
  }
  if (key && (await held()).includes(key)) wrong.push(`${name} holds the key`);
  for (const trouble of troubles.splice(0)) wrong.push(`${name}, ${trouble}`);
}

/** Everything that the page and the browser keep. */
const held = () =>
  page.evaluate(() =>
    JSON.stringify([
      { ...localStorage },
      { ...sessionStorage },
      document.cookie,
      document.documentElement.outerHTML,
    ]),
  );

const visit = async (name: string, path: string) => {
  await open(page, path);
  await look(name);
};

test("signed out", async () => {
  for (const { name, path } of before) await visit(name, path);
});

test("new", async () => {
  await register(page, "Grace Pages");
  for (const { name, path } of empty) await visit(name, path);
});

test("apps, usage and log", async () => {
  await open(page, "/");
  await quickStart(page);
  key = /svc_test_[0-9A-Za-z]{51}/.exec(await page.locator("pre").first().innerText())?.[0] ?? "";
  expect(key).not.toBe("");
  const gateway = await page.locator("meta[name=modelgate-gateway]").getAttribute("content");
  const call = (data: object): Promise<APIResponse> =>
    page.request.post(`${gateway}/api/v1/agent`, { headers: { Authorization: `Bearer ${key}` }, data });
  expect((await call({ prompt: "Hello" })).status()).toBe(200);
  expect((await call({ prompt: "Hello", model: "Newton" })).status()).toBe(404);
  await open(page, "/apps");
  await page.getByRole("link", { name: "My first app" }).click();
  await expect(page.getByRole("heading", { name: "My first app" })).toBeVisible();
  app = /#\/apps\/([^/?]+)/.exec(page.url())?.[1] ?? "";
  await page.reload(); // what was shown once is gone from the page
  for (const { name, path } of watching) await visit(name, path.replace("$app", app));
});

test("account", async () => {
  for (const { name, path } of account) await visit(name, path);
});

test("usage alerts", async () => {
  await open(page, "/billing");
  const form = page.getByRole("form", { name: "Usage alerts" });
  await expect(page.getByText("Nobody is told: turn on mail, or name a webhook.")).toBeVisible();
  await form.getByLabel("Webhook").fill("ftp://example.com/");
  await form.getByRole("button", { name: "Save the alerts" }).click();
  await expect(form.getByText("it must begin with https://").first()).toBeVisible();
  await expect(form.getByLabel("Webhook")).toHaveValue("ftp://example.com/");
  const refused = (trouble: string) => trouble.includes("422");
  expect(troubles.filter((t) => !refused(t))).toEqual([]);
  troubles.splice(0); // the browser reports every refusal
  await look("billing-alerts-refused");

  // With the keyboard alone: the address, the shares, and the button.
  await form.getByLabel("Webhook").fill(new URL("/nowhere", page.url()).href);
  await form.getByLabel("50 %").focus();
  await page.keyboard.press("Space");
  await form.getByLabel("Webhook").focus();
  await page.keyboard.press("Enter");
  const secret = page.getByRole("dialog", { name: "The signing secret" });
  await expect(secret.getByText(/^mgwh_/)).toBeVisible();
  await look("billing-alerts-secret");
  await page.keyboard.press("Escape");
  await expect(secret).toHaveCount(0);
  expect(await held()).not.toContain("mgwh_");
  await expect(form.getByLabel("50 %")).not.toBeChecked();

  await page.getByRole("button", { name: "Send a test" }).click();
  const last = page.getByRole("region", { name: "Last notifications to the webhook" });
  await expect(last.getByText("tried again later")).toBeVisible();
  await expect(last.getByText(/it answered 4\d\d/)).toBeVisible();
  await look("billing-alerts");
  await page.reload();
  await expect(form.getByLabel("50 %")).not.toBeChecked();
  await expect(form.getByLabel("80 %")).toBeChecked();
});

test("limits, palette, details of a call", async () => {
  await open(page, "/limits");
  await page.getByRole("button", { name: "Watch it live" }).click();
  await expect(page.getByText("Yes: nothing stands against it.")).toBeVisible();
  await look("limits-live");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Page, app or action" }).fill("play");
  await look("palette");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Playground" })).toBeVisible();
});

test("playground", async () => {
  await visit("playground", "/playground");
  for (const mode of modes) await visit(`playground-${mode}`, `/playground?mode=${mode}`);
});

test("demos", async () => {
  for (const id of demos) {
    await open(page, `/demos/${id}`);
    const inside = page.frameLocator("iframe");
    await expect(inside.getByRole("heading", { level: 1 })).toBeVisible();
    await look(`demo-${id}`);
    await page.goto(`/dev/${id}.html`);
    await expect(page.getByRole("form", { name: "API key" })).toBeVisible();
    await look(`demo-${id}-alone`);
  }
});

test("guides and explorer", async () => {
  await page.goto("/dev/docs-page");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await look("docs");
  await page.getByRole("searchbox").fill("retry");
  await expect(page.getByRole("navigation", { name: "Found" }).getByRole("link").first()).toBeVisible();
  await look("docs-search");
  await page.goto("/dev/openapi");
  await expect(page.getByRole("navigation", { name: "Operations" }).getByRole("link").first()).toBeVisible();
  await look("explorer");
});

test("nothing was wrong on any page, and no answer lists a key", () => {
  console.log(`${checked} views were checked, ${read.length} answers were read`);
  expect(wrong).toEqual([]);
  expect(read.length).toBeGreaterThan(20);
  expect(read.filter((r) => r.text.includes(key) || r.url.endsWith("/key-for-stream"))).toEqual([]);
});
