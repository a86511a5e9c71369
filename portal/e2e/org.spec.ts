import { expect, type Page, test } from "@playwright/test";
import { findings, open, register, watch } from "./page";
import { mailedLink, operator } from "./world";

const shot = (page: Page, name: string) =>
  page.screenshot({ path: `artifacts/e2e/${name}.png`, fullPage: true });

/** Invites an address and returns the link of the invite, as the part of the address behind the #. */
async function invite(page: Page, email: string): Promise<string> {
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  const form = page.getByRole("form", { name: "Invite somebody" });
  await form.getByLabel("E-mail").fill(email);
  await form.getByRole("button", { name: "Invite" }).click();
  const sent = page.getByRole("dialog", { name: "The invite is on its way" });
  const link = await sent.locator("pre").innerText();
  await sent.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("list", { name: "Invites" }).getByText(email)).toBeVisible();
  return link.slice(link.indexOf("#") + 1);
}

test("an organization is made, joined by a mailed invite, and left", async ({ page, browser }) => {
  test.setTimeout(240_000);
  const troubles = watch(page);
  const owner = await register(page, "Olga Owner");
  await open(page, "/organization");
  await expect(page.getByText("Organizations come with the Enterprise plan")).toBeVisible();
  await shot(page, "org-free");
  await operator("account", "set", owner, "--plan", "enterprise", "--verified");
  await open(page, "/"); // the page asks anew who one is
  await open(page, "/organization");
  await expect(page.getByRole("form", { name: "Create an organization" })).toBeVisible({ timeout: 15_000 });
  expect(await findings(page)).toEqual([]);
  await page.getByLabel("Name").fill("Analytical Engines");
  await page.getByRole("button", { name: "Create organization" }).click();
  await expect(page.getByRole("heading", { name: "Analytical Engines" })).toBeVisible();

  // The mail settings say what is configured, and prove it.
  await page.getByRole("button", { name: "Send me a test mail" }).click();
  await expect(page.getByText(`The mail server has taken a mail to ${owner}.`)).toBeVisible();

  // Two invites: one is taken back, one is used.
  const name = `bob-${Date.now()}`;
  const email = `${name}@example.com`;
  const back = await invite(page, `carol-${Date.now()}@example.com`);
  await page.getByRole("button", { name: /^Revoke carol/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("list", { name: "Invites" }).getByText("revoked")).toBeVisible();
  const link = await invite(page, email);
  expect(await mailedLink(email, /invite|join/i)).toBe(link);
  expect(await findings(page)).toEqual([]);
  await shot(page, "org-invited");

  // The owner cannot take an invite that is for somebody else.
  await open(page, link);
  await expect(page.getByText("the invite is for another address")).toBeVisible();
  await expect(page.getByRole("button", { name: "Accept and join" })).toHaveCount(0);
  await shot(page, "invite-mismatch");

  // Somebody else, in a browser of their own, who has no account yet.
  const context = await browser.newContext();
  const bob = await context.newPage();
  await open(bob, back);
  await expect(bob.getByText("This invite was taken back")).toBeVisible();
  await open(bob, link);
  await expect(bob.getByRole("heading", { name: "Join Analytical Engines" })).toBeVisible();
  expect(await findings(bob)).toEqual([]);
  await shot(bob, "invite-signed-out");
  await bob.getByRole("link", { name: "Create an account" }).click();
  const form = bob.getByRole("form", { name: "Create an account" });
  await form.getByLabel("Name").fill("Bob Builder");
  await form.getByLabel("E-mail").fill(email);
  await form.getByLabel("Password").fill("correct horse battery");
  await form.getByRole("button").click();
  await bob.getByRole("button", { name: "Accept and join" }).click();
  await expect(bob.getByRole("alert")).toBeVisible(); // the address is not confirmed yet
  await expect(bob.getByRole("button", { name: "Send the link that confirms the address" })).toBeVisible();
  await shot(bob, "invite-unconfirmed");
  await open(bob, await mailedLink(email, /confirm/i));
  await bob.getByRole("button", { name: "Confirm" }).click();
  await expect(bob.getByText("The address is confirmed.")).toBeVisible();
  await open(bob, link);
  await bob.getByRole("button", { name: "Accept and join" }).click();
  await expect(bob.getByRole("heading", { name: "Analytical Engines" })).toBeVisible();
  await expect(bob.getByText("You are developer here.")).toBeVisible();
  await expect(bob.getByRole("button", { name: "Invite", exact: true })).toHaveCount(0);
  await shot(bob, "org-as-developer");
  await open(bob, link);
  await expect(bob.getByText("This invite was used")).toBeVisible();

  // The owner sees who came, changes the role, and ends the membership; Bob's pages follow.
  await open(page, "/organization");
  const role = page.getByLabel("Role of Bob Builder");
  await role.selectOption("viewer");
  await expect(page.getByText("Bob Builder is viewer now.")).toBeVisible();
  await open(bob, "/organization");
  await expect(bob.getByText("You are viewer here.")).toBeVisible();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await findings(page)).toEqual([]);
  await shot(page, "org-390");
  await page.setViewportSize({ width: 1280, height: 844 });
  await shot(page, "org-1280");
  await page.getByRole("button", { name: "Remove Bob Builder" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("Bob Builder is not a member any more.")).toBeVisible();
  await expect(bob.getByText("Organizations come with the Enterprise plan")).toBeVisible({ timeout: 60_000 });

  // Somebody who has an account is found by a part of the address, and is a member at once.
  await page.getByRole("button", { name: "Add a developer" }).click();
  await page.getByRole("searchbox").fill(name);
  await page.getByRole("button", { name: "Add Bob Builder" }).click();
  await expect(page.getByRole("list", { name: "Members" }).getByText("Bob Builder")).toBeVisible();

  // All of it is in the log.
  await open(page, "/audit?scope=organization");
  await expect(page.getByText(/Chain verified: \d+ records are as they were written/)).toBeVisible();
  const records = page.getByRole("list", { name: "Records" });
  await expect(records.getByText("accept invite").first()).toBeVisible();
  await page.getByLabel("Kind").selectOption("member");
  await expect(records.getByText("invite", { exact: true })).toHaveCount(0);
  await page.getByLabel("Operation").selectOption("changeRole");
  await records.getByRole("button").click();
  const details = page.getByRole("dialog");
  await expect(details.getByRole("cell", { name: "developer", exact: true })).toBeVisible();
  await expect(details.getByRole("cell", { name: "viewer", exact: true })).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await shot(page, "audit-details");
  await details.getByRole("button", { name: "Close" }).click();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "NDJSON" }).click();
  expect((await saved).suggestedFilename()).toBe("audit.ndjson");
  await expect(page.getByText("1 records are saved.")).toBeVisible();
  await context.close();
  expect(troubles).toEqual([]);
});
