import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";

// The script that the control plane serves for pages of others, run on a page that has just what it may use.
const script = readFileSync(
  new URL("../../../controlplane/internal/api/embed/metrics.js", import.meta.url),
  "utf8",
);

class Place {
  textContent = "-";
  constructor(readonly dataset: Record<string, string>) {}
  closest(): Place | null {
    return "modelgateTrack" in this.dataset ? this : null;
  }
}

async function page(event: string | undefined, places: Place[], status = 200) {
  const calls: { url: string; init: RequestInit }[] = [];
  const listeners: Record<string, (e: unknown) => void> = {};
  const document = {
    currentScript: {
      src: "https://portal.example/api/developer/embed/metrics.js",
      dataset: event === undefined ? {} : { event },
    },
    readyState: "complete",
    querySelectorAll: () => places.filter((p) => "modelgateMetric" in p.dataset),
    addEventListener: (name: string, f: (e: unknown) => void) => {
      listeners[name] = f;
    },
  };
  const fetch = async (url: URL, init: RequestInit) => {
    calls.push({ url: url.href, init });
    const metrics = [{ event: "page_view", label: "Page views", value: 1200, text: "1,200" }];
    return { ok: status === 200, status, json: async () => ({ metrics }) };
  };
  runInNewContext(script, { document, fetch, URL, Element: Place });
  const settle = () => new Promise((done) => setTimeout(done, 0));
  await settle();
  return { calls, listeners, settle };
}

const track = "https://portal.example/api/developer/track";
const formatted = "https://portal.example/api/developer/metrics/formatted";

test("a page view is counted, then the counters are shown", async () => {
  const known = new Place({ modelgateMetric: "page_view" });
  const unknown = new Place({ modelgateMetric: "never" });
  const { calls } = await page(undefined, [known, unknown]);
  expect(calls.map((c) => c.url)).toEqual([track, formatted]);
  expect(calls[0]?.init).toMatchObject({
    method: "POST",
    credentials: "omit",
    body: '{"event":"page_view"}',
  });
  expect(calls[0]?.init.headers).toBeUndefined(); // a header would make the browser ask first
  expect([known.textContent, unknown.textContent]).toEqual(["1,200", "0"]);
});

test("what is counted can be chosen, or nothing", async () => {
  expect((await page("demo_opened", [])).calls.map((c) => c.init.body)).toEqual(['{"event":"demo_opened"}']);
  expect((await page("", [])).calls).toEqual([]);
});

test("clicks on marked elements are counted", async () => {
  const { calls, listeners, settle } = await page("", []);
  listeners.click?.({ target: new Place({}) });
  listeners.click?.({ target: new Place({ modelgateTrack: "snippet_copied" }) });
  await settle();
  expect(calls.map((c) => c.init.body)).toEqual(['{"event":"snippet_copied"}']);
});

test("a portal that refuses changes nothing on the page", async () => {
  const place = new Place({ modelgateMetric: "page_view" });
  await page(undefined, [place], 429);
  expect(place.textContent).toBe("-");
});
