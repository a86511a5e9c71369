import { expect, test } from "@playwright/test";
import { open } from "./page";

test("Google's script is loaded where a client id is configured, and nowhere else", async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (r) => {
    if (r.url().includes("google.com")) asked.push(r.url());
  });
  const script = "https://accounts.google.com/gsi/client";
  await open(page, "/sign-in");
  await page.waitForLoadState("networkidle");
  await expect(page.locator("script[src*='google']")).toHaveCount(0);
  expect(asked).toEqual([]);

  // As the control plane answers with a client id. The provider is played here: nothing leaves this machine.
  await page.route("**/dev/auth/google-client-id", (route) =>
    route.fulfill({ json: { client_id: "client.example", nonce: "n".repeat(43) } }),
  );
  await page.route(/\/dev\/(#.*)?$/, async (route) => {
    const response = await route.fetch();
    const policy = response.headers()["content-security-policy"] ?? "";
    expect(policy).not.toContain("google");
    const allowing = `${policy}; script-src 'self' ${script}`;
    await route.fulfill({
      response,
      headers: { ...response.headers(), "content-security-policy": allowing },
    });
  });
  await page.route(script, (route) =>
    route.fulfill({
      contentType: "text/javascript",
      body: `window.google = { accounts: { id: {
        initialize(options) { this.options = options; },
        renderButton(place) {
          const button = document.createElement("button");
          button.textContent = "Continue with Google";
          button.onclick = () => this.options.callback({ credential: "forged by " + this.options.client_id });
          place.append(button);
        } } } };`,
    }),
  );
  await page.reload();
  const sent = page.waitForRequest("**/dev/auth/google");
  await page.getByRole("button", { name: "Continue with Google" }).click();
  expect((await sent).postDataJSON()).toEqual({ credential: "forged by client.example" });
  await expect(page.getByRole("alert")).not.toBeEmpty(); // the real control plane has no client id and refuses
  expect(asked).toEqual([script]);
});
