// The official client for JavaScript in Chromium, on a page of another origin than the gateway's.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import {
  callsLeft,
  cancelled,
  check,
  endless,
  gateway,
  key,
  limitedKey,
  long,
  model,
  narrowKey,
  run,
  setting,
  singleKey,
  unknownKey,
  waitMinute,
} from "./check.mjs";

const portal = createRequire(path.join(setting("ROOT"), "portal/package.json")); // has the driver of the browser
const { chromium } = portal("@playwright/test");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) throw new Error(`there is no browser at ${executablePath}: run \`make browser\``);

const modules = path.join(import.meta.dirname, "node_modules/openai");
const site = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://site");
  const module = pathname.startsWith("/openai/") && path.join(modules, path.normalize(pathname.slice("/openai/".length)));
  const file = module || path.join(import.meta.dirname, "page.html");
  try {
    const text = await readFile(file);
    response.writeHead(200, { "Content-Type": module ? "text/javascript" : "text/html" }).end(text);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));

const patience = 120_000; // ms: the machine that runs this runs everything else, too
const browser = await chromium.launch({
  executablePath,
  timeout: patience,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
});
const page = await browser.newPage();
page.on("console", (message) => message.type() === "error" && console.error(message.text())); // why it did not make a call
page.setDefaultTimeout(patience);
await page.goto(`http://127.0.0.1:${site.address().port}/`);
await page.waitForFunction(() => window.ready);

const settings = (apiKey, more = {}) => ({ baseURL: gateway, apiKey, ...more });
const say = (content, more = {}) => ({ model, messages: [{ role: "user", content }], ...more });

/** Makes a call in the page and returns what it threw. */
function failure(client, request) {
  return page.evaluate(
    ([client, request]) => window.failure(() => window.connect(client).chat.completions.create(request)),
    [client, request],
  );
}

function same(error, want) {
  const got = Object.fromEntries(Object.keys(want).map((name) => [name, error[name]]));
  assert.deepEqual(got, want, JSON.stringify(error));
}

check("models are listed", async () => {
  const ids = await page.evaluate(async (client) => {
    const ids = [];
    for await (const one of window.connect(client).models.list()) ids.push(one.id);
    return ids;
  }, settings(key));
  assert.ok(ids.includes(model), `models are ${ids}`);
});

check("a whole answer with its request's id", async () => {
  const answer = await page.evaluate(
    async ([client, request]) => {
      const { data, request_id } = await window.connect(client).chat.completions.create(request).withResponse();
      return { data, request_id };
    },
    [settings(key), say("hello")],
  );
  assert.equal(answer.data.choices[0].message.content, "Simulated answer. You said: hello");
  assert.equal(answer.data.id, `chatcmpl-${answer.request_id}`);
});

check("a stream comes event by event and has the whole text", async () => {
  const { text, events, reason } = await page.evaluate(
    async ([client, request]) => {
      const heard = { text: "", events: 0, reason: null };
      for await (const chunk of await window.connect(client).chat.completions.create(request)) {
        heard.events++;
        heard.text += chunk.choices[0].delta.content ?? "";
        heard.reason = chunk.choices[0].finish_reason ?? heard.reason;
      }
      return heard;
    },
    [settings(key), say(long, { stream: true })],
  );
  assert.equal(text, `Simulated answer. You said: ${long}`);
  assert.ok(events > 20, `${events} events`);
  assert.equal(reason, "stop");
});

check("a page that traces its calls may send traceparent", async () => {
  const defaultHeaders = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  const error = await failure(settings(unknownKey, { defaultHeaders }), say("x"));
  same(error, { kind: "AuthenticationError" });
});

check("401 is AuthenticationError", async () => {
  const error = await failure(settings(unknownKey), say("x"));
  same(error, { kind: "AuthenticationError", status: 401, code: "invalid_api_key" });
  assert.ok(error.requestID);
});

check("403 is PermissionDeniedError", async () => {
  same(await failure(settings(narrowKey), say("x")), { kind: "PermissionDeniedError", status: 403 });
});

check("400 is BadRequestError", async () => {
  same(await failure(settings(key), say("x", { temperature: 9 })), { kind: "BadRequestError", status: 400 });
});

check("404 of a model is NotFoundError", async () => {
  same(await failure(settings(key), { ...say("x"), model: "gpt-4o" }), { kind: "NotFoundError", status: 404 });
});

check("404 of a path can be read: embeddings, images, responses", async () => {
  const kinds = await page.evaluate(
    async ([client, model]) => {
      const { embeddings, images, responses } = window.connect(client);
      const calls = [
        () => embeddings.create({ model, input: "x" }),
        () => images.generate({ model, prompt: "a boat" }),
        () => responses.create({ model, input: "x" }),
      ];
      return (await Promise.all(calls.map(window.failure))).map((error) => error.kind);
    },
    [settings(key), model],
  );
  assert.deepEqual(kinds, ["NotFoundError", "NotFoundError", "NotFoundError"]);
});

check("429 is RateLimitError, and its Retry-After can be read", async () => {
  await failure(settings(limitedKey), say("once"));
  const error = await failure(settings(limitedKey), say("twice"));
  same(error, { kind: "RateLimitError", status: 429, code: "rate_limit_exceeded" });
  waitMinute(error.retryAfter);
});

check("the client's retries wait for Retry-After and succeed", async () => {
  const { text, seconds, waited } = await page.evaluate(
    async ([client, hold, request]) => {
      const held = await window.connect(client).chat.completions.create(hold);
      await held[Symbol.asyncIterator]().next();
      const sent = [];
      const refusals = [];
      const watched = async (url, init) => {
        sent.push(performance.now());
        const answer = await fetch(url, init);
        if (answer.status === 429) {
          refusals.push({ at: performance.now(), seconds: Number(answer.headers.get("retry-after")) });
          held.controller.abort();
        }
        return answer;
      };
      const answer = await window.connect({ ...client, maxRetries: 4, fetch: watched }).chat.completions.create(request);
      const [first] = refusals;
      return {
        text: answer.choices[0].message.content,
        seconds: first?.seconds,
        waited: first && (sent[1] - first.at) / 1000,
      };
    },
    [settings(singleKey), say(endless("browser-hold"), { stream: true }), say("hello")],
  );
  assert.match(text, /hello/);
  assert.ok(seconds >= 1 && waited >= seconds - 0.05, `tried again after ${waited} s of ${seconds}`);
});

check("an abort in the middle cancels at the model server, and usage says so", async () => {
  const before = await callsLeft();
  const seen = await page.evaluate(
    async ([client, request]) => {
      const stream = await window.connect(client).chat.completions.create(request);
      let seen = 0;
      for await (const _ of stream) {
        if (++seen === 3) stream.controller.abort();
      }
      return seen;
    },
    [settings(key), say(endless("browser-abort"), { stream: true })],
  );
  assert.ok(seen >= 3);
  await cancelled("browser-abort", before);
});

check("a page that is left cancels at the model server, and usage says so", async () => {
  const before = await callsLeft();
  const other = await browser.newPage();
  other.setDefaultTimeout(patience);
  await other.goto(page.url());
  await other.waitForFunction(() => window.ready);
  await other.evaluate(
    async ([client, request]) => {
      const stream = await window.connect(client).chat.completions.create(request);
      await stream[Symbol.asyncIterator]().next();
    },
    [settings(key), say(endless("browser-leave"), { stream: true })],
  );
  await other.close();
  await cancelled("browser-leave", before);
});

check("20 streams at once, none mixed up", async () => {
  const texts = await page.evaluate(
    async ([client, requests]) => {
      const one = async (request) => {
        let text = "";
        for await (const chunk of await window.connect(client).chat.completions.create(request)) {
          text += chunk.choices[0].delta.content ?? "";
        }
        return text;
      };
      return Promise.all(requests.map(one));
    },
    [settings(key), Array.from({ length: 20 }, (_, i) => say(`number ${i} ${long}`, { stream: true }))],
  );
  texts.forEach((text, i) => {
    assert.equal(text, `Simulated answer. You said: number ${i} ${long}`);
  });
});

await run(() => browser.close());
