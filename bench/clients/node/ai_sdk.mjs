// Vercel's AI SDK with its provider for servers that speak OpenAI's protocol.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";
import {
  attempts,
  callsLeft,
  cancelled,
  check,
  endless,
  failure,
  gateway,
  key,
  limitedKey,
  long,
  model,
  narrowKey,
  run,
  singleKey,
  tooLarge,
  unknownKey,
  waitMinute,
} from "./check.mjs";

const provider = (apiKey, more = {}) =>
  createOpenAICompatible({ name: "modelgate", baseURL: gateway, apiKey, includeUsage: true, supportsStructuredOutputs: true, ...more });
const chat = provider(key)(model);
const ask = (prompt, more = {}) => generateText({ model: chat, prompt, maxRetries: 0, ...more });

/** Streams without a word on the console about errors, which the checks read themselves. */
const stream = (prompt, more = {}) => streamText({ model: chat, prompt, maxRetries: 0, onError: () => {}, ...more });

const Place = z.object({ city: z.string(), people: z.number() });
const weather = (asked) => ({
  weather: tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      asked.push(city);
      return "sunny";
    },
  }),
});

check("a whole answer has text, reason and usage", async () => {
  const { text, finishReason, usage, response } = await ask("hello", { seed: 7, temperature: 0.5, topP: 0.9 });
  assert.equal(text, "Simulated answer. You said: hello");
  assert.equal(finishReason, "stop");
  assert.ok(usage.outputTokens > 0);
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  assert.equal(response.modelId, model);
  assert.equal(response.id, `chatcmpl-${response.headers["x-request-id"]}`);
});

check("a stream has the same text in the same order, and usage", async () => {
  const whole = await ask(long);
  const result = stream(long);
  const deltas = [];
  for await (const delta of result.textStream) deltas.push(delta);
  assert.equal(deltas.join(""), whole.text);
  assert.ok(deltas.length > 20, `${deltas.length} deltas`);
  assert.equal(await result.finishReason, "stop");
  assert.equal((await result.usage).outputTokens, whole.usage.outputTokens);
});

check("a stream can be passed on to a page", async () => {
  const text = await stream("hello").toUIMessageStreamResponse().text();
  const parts = text.split("\n\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  assert.equal(parts.map((part) => part.delta ?? "").join(""), "Simulated answer. You said: hello");
  assert.ok(text.trimEnd().endsWith("data: [DONE]"));
});

check("a tool is run, and its result told of", async () => {
  const asked = [];
  const { text, steps } = await ask("call weather", { tools: weather(asked), stopWhen: stepCountIs(3) });
  assert.deepEqual(asked, ["call weather"]);
  assert.match(text, /The tool returned: sunny/);
  assert.deepEqual(steps.map((step) => step.finishReason), ["tool-calls", "stop"]);
});

check("a tool is run in a stream, and its result told of", async () => {
  const asked = [];
  const result = stream("call weather", { tools: weather(asked), stopWhen: stepCountIs(3) });
  const kinds = [];
  for await (const part of result.fullStream) kinds.push(part.type);
  assert.deepEqual(asked, ["call weather"]);
  assert.ok(kinds.indexOf("tool-call") < kinds.indexOf("tool-result"), `${kinds}`);
  assert.ok(!kinds.includes("error"), `${kinds}`);
  assert.match(await result.text, /The tool returned: sunny/);
});

check("an object by a schema, whole and streamed", async () => {
  const want = { city: "Lyon", people: 1 };
  const request = { model: chat, prompt: "Lyon", schema: Place, maxRetries: 0 };
  assert.deepEqual((await generateObject(request)).object, want);
  assert.deepEqual((await ask("Lyon", { output: Output.object({ schema: Place }) })).output, want);
  const streamed = streamObject(request);
  for await (const _ of streamed.partialObjectStream);
  assert.deepEqual(await streamed.object, want);
});

for (const [status, retryable, call] of [
  [401, false, () => ask("x", { model: provider(unknownKey)(model) })],
  [403, false, () => ask("x", { model: provider(narrowKey)(model) })],
  [404, false, () => ask("x", { model: provider(key)("gpt-4o") })],
  [400, false, () => ask("x", { temperature: 9 })],
  [413, false, () => ask(tooLarge)],
]) {
  check(`${status} is an APICallError with our words, not to be tried again`, async () => {
    const error = await failure(APICallError, call);
    assert.deepEqual([error.statusCode, error.isRetryable], [status, retryable]);
    assert.equal(error.message, JSON.parse(error.responseBody).error.message);
  });
}

check("404 of a path is an APICallError: embeddings", async () => {
  const error = await failure(APICallError, provider(key).textEmbeddingModel(model).doEmbed({ values: ["x"] }));
  assert.equal(error.statusCode, 404);
});

check("429 is an APICallError with Retry-After, to be tried again", async () => {
  const limited = { model: provider(limitedKey)(model) };
  await ask("once", limited);
  const error = await failure(APICallError, ask("twice", limited));
  assert.deepEqual([error.statusCode, error.isRetryable], [429, true]);
  waitMinute(error.responseHeaders["retry-after"]);
});

check("the client's retries wait for Retry-After and succeed", async () => {
  const gone = new AbortController();
  const hold = stream(endless("ai-hold"), { model: provider(singleKey)(model), abortSignal: gone.signal });
  await hold.textStream[Symbol.asyncIterator]().next();
  const watched = attempts(() => gone.abort());
  const { text } = await ask("hello", { model: provider(singleKey, { fetch: watched.fetch })(model), maxRetries: 4 });
  assert.match(text, /hello/);
  watched.waited();
});

check("a model server's 500 is an APICallError, to be tried again, and keeps its reason", async () => {
  const error = await failure(APICallError, ask("[[scenario:status code=500]]"));
  assert.ok(error.statusCode >= 500 && error.isRetryable, `${error.statusCode}`);
  assert.match(error.message, /Simulated failure/);
});

/** The errors among the parts of a stream, and its text. */
async function heard(prompt) {
  const result = stream(prompt);
  const errors = [];
  let text = "";
  for await (const part of result.fullStream) {
    if (part.type === "error") errors.push(part.error);
    if (part.type === "text-delta") text += part.text;
  }
  return { text, errors };
}

check("a stream that breaks off says so after its text", async () => {
  const { text, errors } = await heard("[[scenario:cut-after n=5]]");
  assert.notEqual(text, "");
  assert.equal(errors.length, 1);
  assert.match(`${errors[0]?.message ?? errors[0]}`, /broke off/);
});

check("a stream that says nothing but [DONE] is an error of the gateway's", async () => {
  const { errors } = await heard("[[scenario:done-only]]");
  assert.equal(errors.length, 1);
  assert.notEqual(errors[0].name, "AI_InvalidResponseDataError"); // the SDK's own, for a stream that does not say why
});

check("an abort in the middle cancels at the model server, and usage says so", async () => {
  const before = await callsLeft();
  const gone = new AbortController();
  const result = stream(endless("ai-abort"), { abortSignal: gone.signal });
  const kinds = [];
  for await (const part of result.fullStream) {
    kinds.push(part.type);
    if (kinds.filter((kind) => kind === "text-delta").length === 3) gone.abort();
  }
  assert.equal(kinds.at(-1), "abort");
  await cancelled("ai-abort", before);
});

check("50 streams at once, none mixed up", async () => {
  const texts = await Promise.all(Array.from({ length: 50 }, (_, i) => stream(`number ${i} ${long}`).text));
  texts.forEach((text, i) => {
    assert.equal(text, `Simulated answer. You said: number ${i} ${long}`);
  });
});

await run();
