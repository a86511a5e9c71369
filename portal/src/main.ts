import { appsPage } from "./pages/apps";
import { signInPage } from "./pages/signin";
import { currentDeveloper, endSession, onSessionChange } from "./session/session";
import { h } from "./ui/dom";
import "./ui/style.css";

async function show(): Promise<void> {
  const page = document.getElementById("page");
  const who = document.getElementById("who");
  if (!page || !who) throw new Error("the page has no place to show itself");
  const developer = currentDeveloper();
  if (!developer) {
    who.replaceChildren();
    page.replaceChildren(signInPage());
    return;
  }
  const out = h("button", { type: "button", class: "quiet" }, "Sign out");
  out.addEventListener("click", endSession);
  who.replaceChildren(h("span", { class: "muted" }, `${developer.email}, ${developer.plan} plan`), out);
  page.replaceChildren(h("p", { class: "muted", role: "status" }, "Loading your apps"));
  page.replaceChildren(await appsPage());
  page.focus();
}

onSessionChange(() => void show());
void show();
