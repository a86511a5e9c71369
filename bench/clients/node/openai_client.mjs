// The official client for JavaScript, in Node.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
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

const connect = (apiKey, more = {}) => new OpenAI({ baseURL: gateway, apiKey, maxRetries: 0, ...more });
const client = connect(key);
const say = (content, more = {}) => ({ model, messages: [{ role: "user", content }], ...more });
const ask = (content, more) => client.chat.completions.create(say(content, more));
const tool = (name) => ({
  type: "function",
  function: {
    name,
    description: "The weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
});
const Place = z.object({ city: z.string(), people: z.number() });

check("models are listed and found", async () => {
  const ids = [];
  for await (const one of client.models.list()) ids.push(one.id);
  assert.ok(ids.includes(model), `models are ${ids}`);
  assert.equal((await client.models.retrieve(model)).object, "model");
});

check("a whole answer has text, reason, usage and our names", async () => {
  const { data, response, request_id } = await client.chat.completions
    .create(say("hello", { seed: 7, stop: ["never"] }))
    .withResponse();
  assert.equal(data.choices[0].message.content, "Simulated answer. You said: hello");
  assert.equal(data.choices[0].finish_reason, "stop");
  assert.equal(data.model, model);
  assert.ok(data.usage.completion_tokens > 0);
  assert.equal(data.usage.total_tokens, data.usage.prompt_tokens + data.usage.completion_tokens);
  assert.equal(data.id, `chatcmpl-${request_id}`);
  assert.equal(response.headers.get("x-modelgate-backend"), "simulator");
});

check("a stream has the same text in the same order", async () => {
  const whole = await ask(long);
  const chunks = [];
  for await (const chunk of await ask(long, { stream: true, stream_options: { include_usage: true } })) chunks.push(chunk);
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
  assert.equal(text, whole.choices[0].message.content);
  assert.ok(chunks.length > 20, `${chunks.length} chunks`);
  assert.deepEqual(chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean), ["stop"]);
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  assert.deepEqual([...new Set(chunks.map((chunk) => chunk.model))], [model]);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.equal(chunks.at(-1).usage.completion_tokens, whole.usage.completion_tokens);
});

check("a stream has no usage when nobody asks for it", async () => {
  for await (const chunk of await ask("hello", { stream: true })) {
    assert.equal(chunk.choices.length, 1);
    assert.ok(!chunk.usage);
  }
});

check("a stream can be piped to a browser and read there", async () => {
  const stream = await ask("hello", { stream: true });
  const { ChatCompletionStream } = await import("openai/lib/ChatCompletionStream");
  const final = await ChatCompletionStream.fromReadableStream(stream.toReadableStream()).finalChatCompletion();
  assert.equal(final.choices[0].message.content, "Simulated answer. You said: hello");
});

check("a tool is called, and told of", async () => {
  const request = say("Lyon", { tools: [tool("weather")] });
  const first = await client.chat.completions.create({ ...request, tool_choice: "required" });
  const { message, finish_reason } = first.choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.tool_calls[0].function.name, "weather");
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { city: "Lyon" });
  const told = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" };
  const second = await client.chat.completions.create({ ...request, messages: [...request.messages, message, told] });
  assert.match(second.choices[0].message.content, /The tool returned: sunny/);
});

check("two tools are called in a stream", async () => {
  const stream = client.chat.completions.stream(
    say("call weather and call tide", { tools: [tool("weather"), tool("tide")] }),
  );
  const done = [];
  stream.on("tool_calls.function.arguments.done", (one) => done.push(one.name));
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0];
  assert.deepEqual(done, ["weather", "tide"]);
  assert.equal(finish_reason, "tool_calls");
  for (const call of message.tool_calls) {
    assert.ok(call.id);
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "call weather and call tide" });
  }
  assert.notEqual(message.tool_calls[0].id, message.tool_calls[1].id);
});

check("tools are run until there is an answer", async () => {
  const asked = [];
  const runner = client.chat.completions.runTools({
    ...say("call weather"),
    stream: true,
    tools: [{ type: "function", function: { ...tool("weather").function, parse: JSON.parse, function: (args) => asked.push(args.city) && "sunny" } }],
  });
  assert.match(await runner.finalContent(), /The tool returned: sunny/);
  assert.deepEqual(asked, ["call weather"]);
});

check("an answer is parsed by a schema, whole and streamed", async () => {
  const request = say("Lyon", { response_format: zodResponseFormat(Place, "place") });
  const whole = await client.chat.completions.parse(request);
  assert.deepEqual(whole.choices[0].message.parsed, { city: "Lyon", people: 1 });
  const streamed = await client.chat.completions.stream(request).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.parsed, { city: "Lyon", people: 1 });
});

check("a tool's arguments are parsed by a schema", async () => {
  const tools = [zodFunction({ name: "place", parameters: Place })];
  const answer = await client.chat.completions.parse(say("Lyon", { tools, tool_choice: "required" }));
  assert.deepEqual(answer.choices[0].message.tool_calls[0].function.parsed_arguments, { city: "Lyon", people: 1 });
});

check("401 is AuthenticationError", async () => {
  const error = await failure(OpenAI.AuthenticationError, connect(unknownKey).chat.completions.create(say("x")));
  assert.deepEqual([error.code, error.type], ["invalid_api_key", "invalid_request_error"]);
  assert.ok(error.requestID);
});

check("403 is PermissionDeniedError", async () => {
  const error = await failure(OpenAI.PermissionDeniedError, connect(narrowKey).chat.completions.create(say("x")));
  assert.equal(error.code, "insufficient_permissions");
});

check("404 of a model is NotFoundError with OpenAI's code", async () => {
  const error = await failure(OpenAI.NotFoundError, ask("x", { model: "gpt-4o" }));
  assert.equal(error.code, "model_not_found");
  assert.match(error.message, /Darwin/);
  assert.equal((await failure(OpenAI.NotFoundError, client.models.retrieve("gpt-4o"))).code, "model_not_found");
});

check("404 of a model that does not chat is NotFoundError", async () => {
  const error = await failure(OpenAI.NotFoundError, ask("x", { model: "images" }));
  assert.equal(error.code, "model_not_found");
});

check("404 of a path is NotFoundError: embeddings, images, responses", async () => {
  await failure(OpenAI.NotFoundError, client.embeddings.create({ model, input: "x" }));
  await failure(OpenAI.NotFoundError, client.images.generate({ model, prompt: "a boat" }));
  await failure(OpenAI.NotFoundError, client.responses.create({ model, input: "x" }));
});

check("400 is BadRequestError and names the member", async () => {
  for (const more of [{ temperature: 9 }, { n: 2 }, { max_tokens: 0 }]) {
    const error = await failure(OpenAI.BadRequestError, ask("x", more));
    assert.deepEqual([error.param], Object.keys(more));
  }
});

check("400 names members that cannot be honoured", async () => {
  for (const more of [
    { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } },
    { web_search_options: {} },
  ]) {
    const error = await failure(OpenAI.BadRequestError, ask("x", more));
    assert.ok(error.param in more, `param is ${error.param}`);
  }
});

check("413 is an APIError that can be read", async () => {
  const error = await failure(OpenAI.APIError, ask(tooLarge));
  assert.equal(error.status, 413);
  assert.match(error.message, /larger/);
});

check("429 is RateLimitError with Retry-After", async () => {
  const limited = connect(limitedKey);
  await limited.chat.completions.create(say("once"));
  const error = await failure(OpenAI.RateLimitError, limited.chat.completions.create(say("twice")));
  assert.equal(error.code, "rate_limit_exceeded");
  waitMinute(error.headers.get("retry-after"));
});

check("the client's retries wait for Retry-After and succeed", async () => {
  const held = await connect(singleKey).chat.completions.create(say(endless("js-hold"), { stream: true }));
  await held[Symbol.asyncIterator]().next();
  const watched = attempts(() => held.controller.abort());
  const single = connect(singleKey, { maxRetries: 4, fetch: watched.fetch });
  const answer = await single.chat.completions.create(say("hello"));
  assert.match(answer.choices[0].message.content, /hello/);
  watched.waited();
});

check("a model server's 500 is InternalServerError and keeps its reason", async () => {
  const error = await failure(OpenAI.InternalServerError, ask("[[scenario:status code=500]]"));
  assert.match(error.message, /Simulated failure/);
});

check("a stream that breaks off throws after its text", async () => {
  let text = "";
  const error = await failure(OpenAI.APIError, async () => {
    for await (const chunk of await ask("[[scenario:cut-after n=5]]", { stream: true })) {
      text += chunk.choices[0].delta.content ?? "";
    }
  });
  assert.notEqual(text, "");
  assert.match(error.message, /broke off/);
});

check("a stream that says nothing but [DONE] throws", async () => {
  const thrown = await (async () => {
    for await (const _ of await ask("[[scenario:done-only]]", { stream: true }));
  })().then(
    () => undefined,
    (error) => error,
  );
  assert.ok(thrown instanceof OpenAI.APIError, `thrown was ${thrown}`);
});

check("an abort in the middle cancels at the model server, and usage says so", async () => {
  const before = await callsLeft();
  const stream = await ask(endless("js-abort"), { stream: true });
  let seen = 0;
  for await (const _ of stream) {
    if (++seen === 3) stream.controller.abort();
  }
  assert.ok(seen >= 3);
  await cancelled("js-abort", before);
});

check("a client that gives up before the answer cancels at the model server, and usage says so", async () => {
  const before = await callsLeft();
  await failure(
    OpenAI.APIConnectionTimeoutError,
    client.chat.completions.create(say("[[scenario:slow-head delay=60s id=js-timeout]]"), { timeout: 4000 }),
  );
  await cancelled("js-timeout", before);
});

check("50 streams at once, none mixed up", async () => {
  const one = async (i) => {
    let text = "";
    for await (const chunk of await ask(`number ${i} ${long}`, { stream: true })) text += chunk.choices[0].delta.content ?? "";
    return text;
  };
  const texts = await Promise.all(Array.from({ length: 50 }, (_, i) => one(i)));
  texts.forEach((text, i) => {
    assert.equal(text, `Simulated answer. You said: number ${i} ${long}`);
  });
});

await run();
