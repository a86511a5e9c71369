import { events } from "../stream/sse";
import { copyButton, field, h, notice, onSubmit } from "../ui/dom";

/** A prompt box that streams an answer through the gateway with the given key, and the same request as curl. */
export function tryIt(key: string): HTMLElement {
  const gateway = document.querySelector<HTMLMetaElement>("meta[name=modelgate-gateway]")?.content ?? "";
  const answer = h("output", { class: "answer", "aria-live": "polite" });
  const form = h(
    "form",
    { "aria-label": "Try the key" },
    h(
      "div",
      { class: "row" },
      field("Prompt", { name: "prompt", required: "", value: "Say hello in three languages." }),
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "submit" }, "Stream the answer"),
      copyButton(curl(gateway, key), "Copy as curl"),
    ),
    answer,
  );
  onSubmit(form, async (data) => {
    answer.replaceChildren();
    const response = await fetch(`${gateway}/api/v1/agent`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: data.get("prompt"), stream: true }),
    });
    if (!response.ok || !response.body) {
      const body = (await response.json().catch(() => ({}))) as { detail?: string };
      return body.detail ?? `The gateway answered ${response.status}.`;
    }
    if (response.headers.get("X-Modelgate-Backend") === "simulator")
      answer.before(notice("ok", "Answered by the simulator, not by a model."));
    let whole = false;
    for await (const event of events(response.body)) {
      if (event.type === "delta") answer.append(event.text);
      else if (event.type === "error") return event.detail;
      else whole = true;
    }
    return whole ? undefined : "The stream broke off before its end.";
  });
  return form;
}

function curl(gateway: string, key: string): string {
  return `curl -N ${gateway}/api/v1/agent \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"prompt":"Say hello in three languages.","stream":true}'`;
}
