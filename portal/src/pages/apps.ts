import { api, reason } from "../api/client";
import type { components } from "../api/contract.gen";
import { copyButton, field, h, notice, onSubmit } from "../ui/dom";
import { tryIt } from "./tryit";

type App = components["schemas"]["App"];

/** The developer's apps with their keys, and a way to make more. */
export async function appsPage(): Promise<HTMLElement> {
  const page = h("div", {}, h("h1", {}, "Apps"));
  const list = h("div", { class: "stack" });
  const create = h(
    "form",
    { class: "card row", "aria-label": "New app" },
    field("Name of the app", { name: "name", required: "", maxlength: "120", placeholder: "My first app" }),
    h("button", { type: "submit" }, "Create app"),
  );
  onSubmit(create, async (data) => {
    const { data: app, error } = await api.POST("/dev/apps", {
      body: {
        name: String(data.get("name")),
        description: "",
        environment: "test",
        families: [],
        tasks: [],
        rate_limit: 100,
      },
    });
    if (!app) return reason(error);
    create.reset();
    list.querySelector(".empty")?.remove();
    list.prepend(appCard(app));
    return undefined;
  });
  page.append(create, list);

  const { data, error } = await api.GET("/dev/apps");
  if (!data) {
    list.append(notice("error", reason(error)));
    return page;
  }
  if (data.apps.length === 0)
    list.append(
      h("p", { class: "empty" }, "No apps yet. An app holds keys and says what they may do; name one above."),
    );
  for (const app of data.apps) list.append(appCard(app));
  return page;
}

function appCard(app: App): HTMLElement {
  const keys = h("ul", { class: "keys" });
  const fresh = h("div");
  const make = h("button", { type: "button" }, "New key");
  const card = h(
    "section",
    { class: "card", "aria-label": app.name },
    h("div", { class: "head" }, h("h2", {}, app.name), h("span", { class: "tag" }, app.environment), make),
    h("p", { class: "muted" }, `${app.rate_limit} calls a minute, ${app.active ? "active" : "switched off"}`),
    keys,
    fresh,
  );
  make.addEventListener("click", async () => {
    make.disabled = true;
    const { data: key, error } = await api.POST("/dev/apps/{app_id}/keys", {
      params: { path: { app_id: app.app_id } },
    });
    make.disabled = false;
    fresh.replaceChildren(key ? newKey(key.key) : notice("error", reason(error)));
    await showKeys(app.app_id, keys);
  });
  void showKeys(app.app_id, keys);
  return card;
}

function newKey(key: string): HTMLElement {
  return h(
    "div",
    { class: "fresh" },
    h("p", {}, "Your new key. Keep it where your secrets are; the list of keys never shows it again."),
    h("div", { class: "row" }, h("code", { class: "secret" }, key), copyButton(key, "Copy key")),
    tryIt(key),
  );
}

async function showKeys(appID: string, list: HTMLElement): Promise<void> {
  const { data, error } = await api.GET("/dev/apps/{app_id}", { params: { path: { app_id: appID } } });
  if (!data) {
    list.replaceChildren(h("li", {}, notice("error", reason(error))));
    return;
  }
  if (data.keys.length === 0) {
    list.replaceChildren(h("li", { class: "empty" }, "No keys yet."));
    return;
  }
  list.replaceChildren(
    ...data.keys.map((key) => {
      const item = h(
        "li",
        {},
        h("code", {}, key.hint),
        h("span", { class: "muted" }, key.status === "revoked" ? "revoked" : used(key.last_used_at)),
      );
      if (key.status !== "active") return item;
      const revoke = h("button", { type: "button", class: "quiet" }, "Revoke");
      revoke.setAttribute("aria-label", `Revoke ${key.hint}`);
      revoke.addEventListener("click", async () => {
        if (!confirm(`Revoke ${key.hint}? Calls with it are refused at once.`)) return;
        const { error } = await api.DELETE("/dev/apps/{app_id}/keys/{key_id}", {
          params: { path: { app_id: appID, key_id: key.key_id } },
        });
        if (error) item.append(notice("error", reason(error)));
        else await showKeys(appID, list);
      });
      item.append(revoke);
      return item;
    }),
  );
}

function used(at: string | null | undefined): string {
  return at ? `last used ${new Date(at).toLocaleString()}` : "not used yet";
}
