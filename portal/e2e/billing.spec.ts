import { expect, type Page, test } from "@playwright/test";
import { findings, open, quickStart, register, watch } from "./page";

/** The limit a minute that the gateway holds for the key, from its dry run. */
async function perMinute(page: Page): Promise<void> {
  await open(page, "/limits");
  await page.getByRole("button", { name: "Watch it live" }).click();
  await expect(page.getByText("Yes: nothing stands against it.")).toBeVisible();
}

test("a developer goes from Free to Pro through 3-D Secure, and the gateway's limit changes", async ({
  page,
}) => {
  const troubles = watch(page);
  const wrong: string[] = [];
  await register(page, "Ada Buyer");
  await quickStart(page);
  await perMinute(page);
  await expect(page.getByText("30 of 30 left")).toBeVisible();

  await open(page, "/billing");
  await expect(page.getByText("simulated: nobody pays")).toBeVisible();
  await expect(page.getByText("There is no subscription, so nothing is charged.")).toBeVisible();
  await page.screenshot({ path: "artifacts/e2e/billing-free.png", fullPage: true });
  await page.getByRole("button", { name: "Buy Pro" }).click();

  // The checkout is a page of the simulator, which says that it is one.
  await expect(page.getByText(/simulat/i).first()).toBeVisible();
  await page.getByLabel("Card number").fill("4000 0027 6000 3184");
  await page.getByRole("button", { name: "Pay with this card" }).click();
  await expect(page.getByRole("heading", { name: "3-D Secure" })).toBeVisible();
  await page.screenshot({ path: "artifacts/e2e/billing-3ds.png" });

  // Who leaves the bank's page is asked to go on there.
  const bank = page.url();
  await open(page, "/billing");
  await expect(page.getByText("There is no subscription, so nothing is charged.")).toBeVisible();
  await page.goto(bank);
  await page.getByRole("button", { name: "Complete authentication" }).click();

  await expect(page.getByText(/plan is in force on 1\/1 node/)).toBeVisible();
  await expect(page.getByLabel("In force")).toContainText("Pro");
  await expect(page.getByLabel("In force")).toContainText("$49.00");
  await expect(page.getByRole("region", { name: "Invoices" }).last()).toContainText("paid");
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      for (const f of await findings(page)) wrong.push(`billing, ${scheme} at ${width}: ${f}`);
      await page.screenshot({ path: `artifacts/e2e/billing-pro-${scheme}-${width}.png`, fullPage: true });
    }
  }
  await perMinute(page);
  await expect(page.getByText("500 of 500 left")).toBeVisible();

  // A change of plan shows what it costs before it is made.
  await open(page, "/billing");
  await page.getByRole("button", { name: "Change to Starter" }).click();
  await expect(page.getByText("is kept as credit for the next invoices.")).toBeVisible();
  for (const f of await findings(page)) wrong.push(`preview: ${f}`);
  await page.screenshot({ path: "artifacts/e2e/billing-preview.png" });
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(wrong).toEqual([]);
  expect(troubles).toEqual([]);
});
