import { api, reason } from "../api/client";
import { beginSession } from "../session/session";
import { field, h, onSubmit } from "../ui/dom";

/** The page before a session: create an account, or sign in. */
export function signInPage(): HTMLElement {
  const register = h(
    "form",
    { class: "card", "aria-label": "Create an account" },
    h("h2", {}, "Create an account"),
    field("Name", { name: "name", required: "", maxlength: "120", autocomplete: "name" }),
    field("E-mail", { name: "email", type: "email", required: "", autocomplete: "email" }),
    field("Password", {
      name: "password",
      type: "password",
      required: "",
      minlength: "8",
      maxlength: "128",
      autocomplete: "new-password",
    }),
    h("button", { type: "submit" }, "Create account"),
  );
  onSubmit(register, async (data) => {
    const { data: session, error } = await api.POST("/dev/auth/register", {
      body: { name: text(data, "name"), email: text(data, "email"), password: text(data, "password") },
    });
    if (!session) return reason(error);
    beginSession(session.access_token, session.developer);
    return undefined;
  });

  const login = h(
    "form",
    { class: "card", "aria-label": "Sign in" },
    h("h2", {}, "Sign in"),
    field("E-mail", { name: "email", type: "email", required: "", autocomplete: "username" }),
    field("Password", { name: "password", type: "password", required: "", autocomplete: "current-password" }),
    h("button", { type: "submit" }, "Sign in"),
  );
  onSubmit(login, async (data) => {
    const { data: session, error } = await api.POST("/dev/auth/login", {
      body: { email: text(data, "email"), password: text(data, "password") },
    });
    if (!session) return reason(error);
    beginSession(session.access_token, session.developer);
    return undefined;
  });

  return h(
    "div",
    {},
    h("h1", {}, "One key, every model"),
    h(
      "p",
      { class: "lead" },
      "Create an account, make an app and a key, and stream your first answer. It takes three steps and no reading.",
    ),
    h("div", { class: "pair" }, register, login),
  );
}

function text(data: FormData, name: string): string {
  return String(data.get(name) ?? "");
}
