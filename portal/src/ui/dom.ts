type Child = Node | string | undefined;

/** Makes an element. Text is always text: nothing here parses HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  el.append(...children.filter((c): c is Node | string => c !== undefined));
  return el;
}

/** A labelled input. */
export function field(label: string, attributes: Record<string, string>): HTMLLabelElement {
  return h("label", {}, h("span", {}, label), h("input", attributes));
}

/** A line that tells what happened; screen readers speak it. */
export function notice(kind: "error" | "ok", text: string): HTMLParagraphElement {
  return h("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status" }, text);
}

/** A button that copies text and says so. */
export function copyButton(text: string, label: string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

/** Runs f while the form's button is busy; a refusal is shown under the form. */
export function onSubmit(form: HTMLFormElement, f: (data: FormData) => Promise<string | undefined>): void {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    form.querySelector(".notice")?.remove();
    const button = form.querySelector<HTMLButtonElement>("button[type=submit]");
    if (button) button.disabled = true;
    try {
      const problem = await f(new FormData(form));
      if (problem) form.append(notice("error", problem));
    } catch {
      form.append(notice("error", "The service did not answer. Check the connection and try again."));
    } finally {
      if (button) button.disabled = false;
    }
  });
}
