import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Modelgate, ModelgateError, type Options, textOf } from "../modelgate";

type Answer = (req: IncomingMessage & { text: string }, res: ServerResponse) => void | Promise<void>;

// A real server: what it answers is written in each test, call by call; the last stays.
let script: Answer[] = [];
let seen: { method: string; url: string; authorization: string | undefined; text: string }[] = [];
let left = 0; // answers whose client went away

const server = createServer(async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  seen.push({ method: req.method ?? "", url: req.url ?? "", authorization: req.headers.authorization, text });
  res.on("close", () => {
    if (!res.writableEnded) left++;
  });
  const answer = script.length > 1 ? script.shift() : script[0];
  await answer?.(Object.assign(req, { text }), res);
});

beforeAll(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  script = [];
  seen = [];
  left = 0;
});

const client = (o: Partial<Options> = {}) =>
  new Modelgate({
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    apiKey: "svc_test_key",
    ...o,
  });

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, res) => {
    res.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": "req-1", ...headers });
    res.end(JSON.stringify(body));
  };

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** A stream of these pieces of bytes, ended unless it is left open or cut. */
const sse =
  (pieces: (string | Buffer)[], end: "end" | "cut" | "open" = "end"): Answer =>
  async (_, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream", "X-Modelgate-Backend": "upstream" });
    for (const piece of pieces) {
      res.write(piece);
      await pause(1);
    }
    if (end === "end") res.end();
    if (end === "cut") res.destroy();
  };

async function eventually(look: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !look(); i++) await pause(10);
  expect(look()).toBe(true);
}

async function failure(promise: Promise<unknown>): Promise<ModelgateError> {
  const thrown = await promise.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(thrown).toBeInstanceOf(ModelgateError);
  return thrown as ModelgateError;
}

test("a call carries the key and the body, and its answer comes back", async () => {
  script = [json(200, { type: "text", text: "Habari!" })];
  expect(await client().agent({ prompt: "Hello" })).toEqual({ type: "text", text: "Habari!" });
  expect(seen).toEqual([
    {
      method: "POST",
      url: "/api/v1/agent",
      authorization: "Bearer svc_test_key",
      text: '{"prompt":"Hello"}',
    },
  ]);
});

test("a refusal is an error with the detail, the violations and the request", async () => {
  const item = { type: "missing", loc: ["body", "prompt"], msg: "Field required" };
  script = [
    json(422, { detail: [item] }),
    json(403, { detail: "Not this model." }),
    json(400, { error: { message: "No." } }),
  ];
  const first = await failure(client().agent({ prompt: "" }));
  expect([first.status, first.message, first.requestID]).toEqual([422, "prompt: Field required", "req-1"]);
  expect(first.violations).toEqual([item]);
  expect((await failure(client().models())).message).toBe("Not this model.");
  expect((await failure(client().chat({ model: "x", messages: [] }))).message).toBe("No.");
  expect(seen.length).toBe(3); // none is repeated
});

test("a stream's text comes whole, wherever its bytes are cut", async () => {
  const bytes = Buffer.from(
    ': keep\r\n\r\ndata: {"type":"delta","text":"Grüße 😀"}\r\n\r\ndata: {"type":"delta","text":" 世界"}\n\ndata:[DONE]\n\n',
  );
  for (let at = 1; at < bytes.length; at += 3) {
    script = [sse([bytes.subarray(0, at), bytes.subarray(at)])];
    const stream = await client().agentStream({ prompt: "x" });
    expect(stream.backend).toBe("upstream");
    expect(await textOf(stream)).toBe("Grüße 😀 世界");
  }
  expect(JSON.parse(seen[0]?.text ?? "")).toEqual({ prompt: "x", stream: true });
});

test("bytes one by one, with every kind of line end, make the same events", async () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = `event: x${end}data: é1${end}data: 2${end}${end}: c${end}data: 3${end}${end}data: [DONE]${end}${end}`;
    script = [sse([...Buffer.from(text)].map((b) => Buffer.from([b])))];
    const pieces: string[] = [];
    for await (const piece of await client().deepSearch({ query: "q" })) pieces.push(piece);
    expect(pieces).toEqual(["é1\n2", "3"]);
  }
});

test("an answer that is no text is one event", async () => {
  script = [sse(['data: {"type":"image","image_b64":"iVBO"}\n\ndata: [DONE]\n\n'])];
  const events: unknown[] = [];
  for await (const event of await client().agentStream({ prompt: "draw" })) events.push(event);
  expect(events).toEqual([{ type: "image", image_b64: "iVBO" }]);
});

test("a stream that is cut throws after what came, and is not repeated", async () => {
  for (const end of ["cut", "end"] as const) {
    script = [sse(['data: {"type":"delta","text":"half"}\n\n'], end)];
    seen = [];
    let text = "";
    const thrown = await failure(
      (async () => {
        for await (const event of await client().agentStream({ prompt: "x" }))
          if (event.type === "delta") text += event.text;
      })(),
    );
    expect([text, thrown.status, seen.length]).toEqual(["half", 502, 1]);
    expect(thrown.message).toBe("The stream broke off before its end.");
  }
});

test("a failure that the stream reports is thrown in each of its forms", async () => {
  const half = 'data: {"type":"delta","text":"a"}\n\n';
  script = [sse([half, 'data: {"type":"error","status":504,"detail":"Too slow."}\n\ndata: [DONE]\n\n'])];
  const agent = await failure(textOf(await client().agentStream({ prompt: "x" })));
  expect([agent.status, agent.message]).toEqual([504, "Too slow."]);
  script = [
    sse([
      'data: text\n\nevent: error\ndata: {"type":"error","status":502,"detail":"No sources."}\n\ndata: [DONE]\n\n',
    ]),
  ];
  const search = await failure(textOf(await client().deepSearch({ query: "x" })));
  expect([search.status, search.message]).toEqual([502, "No sources."]);
  script = [sse(['data: {"error":{"message":"Gone."}}\n\n'])];
  const chat = await client().chatStream({ model: "Darwin", messages: [] });
  expect((await failure(chat[Symbol.asyncIterator]().next())).message).toBe("Gone.");
});

test("text that speaks of an error is text", async () => {
  script = [sse(['data: {"error": is how it begins\n\ndata: [DONE]\n\n'])];
  expect(await textOf(await client().deepSearch({ query: "x" }))).toBe('{"error": is how it begins');
});

test("429 and then an answer: the call waits as long as it was told, then succeeds", async () => {
  script = [
    json(429, { detail: "Slow down." }, { "Retry-After": "1" }),
    json(200, { type: "text", text: "ok" }),
  ];
  const begun = performance.now();
  expect(await client().agent({ prompt: "x" })).toEqual({ type: "text", text: "ok" });
  expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
  expect(seen.length).toBe(2);
});

test("a stream is repeated too while nothing of it has come", async () => {
  script = [
    json(503, { detail: "Starting." }, { "Retry-After": "0" }),
    sse(["data: ok\n\ndata: [DONE]\n\n"]),
  ];
  expect(await textOf(await client().deepSearch({ query: "x" }))).toBe("ok");
  expect(seen.length).toBe(2);
});

test("a wait that is too long is refused at once", async () => {
  script = [json(429, { detail: "Tomorrow." }, { "Retry-After": "20411" })];
  const thrown = await failure(client().agent({ prompt: "x" }));
  expect([thrown.status, thrown.retryAfterSeconds, seen.length]).toEqual([429, 20411, 1]);
});

test("repetitions end, and what could do something twice is not repeated", async () => {
  script = [json(502, { detail: "Away." }, { "Retry-After": "0" })];
  await failure(client().agent({ prompt: "x" }));
  expect(seen.length).toBe(3);
  seen = [];
  await failure(client().invokeSkill("biometrix_enroll", { action: "enroll" }));
  expect([seen.length, seen[0]?.url]).toEqual([1, "/api/v1/skills/biometrix_enroll/invoke"]);
  seen = [];
  await failure(client({ maxRetries: 0 }).agent({ prompt: "x" }));
  expect(seen.length).toBe(1);
});

test("a connection that breaks before the answer is tried again", async () => {
  script = [(_, res) => void res.destroy(), json(200, { models: [] })];
  expect(await client().models()).toEqual({ models: [] });
  const nobody = new Modelgate({ baseURL: "http://127.0.0.1:1", maxRetries: 0 });
  expect((await failure(nobody.health())).status).toBe(0);
});

test("an aborted call throws the signal's reason: before, while it waits, and in its stream", async () => {
  const reason = new Error("enough");
  await expect(client().agent({ prompt: "x" }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(seen.length).toBe(0);

  script = [json(429, { detail: "Slow down." }, { "Retry-After": "20" })];
  const waiting = new AbortController();
  const call = client().agent({ prompt: "x" }, { signal: waiting.signal });
  await eventually(() => seen.length === 1);
  setTimeout(() => waiting.abort(reason), 50);
  await expect(call).rejects.toBe(reason);

  script = [sse(['data: {"type":"delta","text":"a"}\n\n'], "open")];
  const reading = new AbortController();
  const stream = await client().agentStream({ prompt: "x" }, { signal: reading.signal });
  const read = (async () => {
    for await (const _ of stream) reading.abort(reason);
  })();
  await expect(read).rejects.toBe(reason);
  await eventually(() => left === 1);
});

test("leaving the loop ends the call", async () => {
  script = [sse(['data: {"type":"delta","text":"a"}\n\n'], "open")];
  for await (const event of await client().agentStream({ prompt: "x" })) {
    expect(event).toEqual({ type: "delta", text: "a" });
    break;
  }
  await eventually(() => left === 1);
});

test("a stream that falls silent is one that broke off; comments keep it alive", async () => {
  script = [sse(Array.from({ length: 400 }, () => ": keep\n\n").concat(["data: ok\n\ndata: [DONE]\n\n"]))];
  expect(await textOf(await client({ silenceMs: 300 }).deepSearch({ query: "x" }))).toBe("ok");
  script = [sse(["data: a\n\n"], "open")];
  const thrown = await failure(textOf(await client({ silenceMs: 100 }).deepSearch({ query: "x" })));
  expect(thrown.message).toBe("The stream was silent for 0.1 s.");
});

test("an answer that never begins is given up", async () => {
  script = [() => {}];
  const thrown = await failure(client({ timeoutMs: 50, maxRetries: 0 }).agent({ prompt: "x" }));
  expect(thrown.message).toMatch(/did not answer within 0.05 s/);
});

test("a key that has run out is renewed once", async () => {
  script = [json(401, { detail: "Expired." }), json(200, { models: [] })];
  const asked: boolean[] = [];
  const apiKey = (renew: boolean) => {
    asked.push(renew);
    return Promise.resolve(renew ? "new" : "old");
  };
  await client({ apiKey }).models();
  expect([asked, seen.map((s) => s.authorization)]).toEqual([
    [false, true],
    ["Bearer old", "Bearer new"],
  ]);
  script = [json(401, { detail: "Revoked." })];
  expect((await failure(client({ apiKey }).models())).status).toBe(401);
});

test("a recording is sent as a form, as it is", async () => {
  script = [json(200, { text: "hello" })];
  await client().transcribe({ audio: new Blob(["RIFF"]), language: "auto", filename: "a.wav" });
  expect(seen[0]?.text).toMatch(
    /name="language"\r\n\r\nauto[\s\S]*name="audio"; filename="a.wav"[\s\S]*RIFF/,
  );
});

test("every operation of the gateway has a method that calls its path", async () => {
  const { readFileSync } = await import("node:fs");
  const { join } = await import("node:path");
  const contract = readFileSync(join(import.meta.dirname, "../../../src/api/contract.gen.ts"), "utf8");
  const paths = [...contract.matchAll(/^ {4}"(\/(?:api\/v1|v1)[^"]*)": \{/gm)].map((m) => m[1] ?? "");
  const source = readFileSync(join(import.meta.dirname, "../modelgate.ts"), "utf8").replaceAll(
    /\$\{encodeURI[^}]*\}/g,
    "{}",
  );
  // The second spelling of chat completions, OpenAI's lists, and the form of DELETE with a body.
  const other = ["/api/v1/chat/completions", "/v1/models", "/v1/models/{model}", "/api/v1/enroll"];
  expect(paths.length).toBeGreaterThan(25);
  for (const path of paths.filter((p) => !other.includes(p)))
    expect(source, path).toMatch(
      new RegExp(`["\`]${path.replace(/\{\w+\}/, "\\{\\}").replaceAll("/", "\\/")}[?"\`]`),
    );
});
