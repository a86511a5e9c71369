import OpenAI from "openai";
import { expect, test } from "vitest";

// The official client, pointed at the gateway by its base URL and a key of ours. bench/journey starts a system whose models
// are simulated, and sets these; LIMITED_KEY may make one call a minute.
const setting = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through \`go test ./journey\` in bench`);
  return value;
};
const baseURL = setting("GATEWAY_URL");
const connect = (apiKey: string) => new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const client = connect(setting("GATEWAY_KEY"));
const model = "Darwin";
const say = (content: string) => ({ model, messages: [{ role: "user" as const, content }] });
const weather = {
  type: "function" as const,
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

/** What an error of the client says, in the order of its class, status, code and param. */
async function failure(call: PromiseLike<unknown>) {
  const error = await Promise.resolve(call).then(
    () => undefined,
    (e: unknown) => e,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`no API error: ${error}`);
  return error;
}

test("the models of the gateway", async () => {
  const ids = (await client.models.list()).data.map((one) => one.id);
  expect(ids).toContain(model);
  expect((await client.models.retrieve(model)).object).toBe("model");
});

test("a whole answer with usage", async () => {
  const { data, response } = await client.chat.completions
    .create({ ...say("hello"), seed: 7, stop: ["never"] })
    .withResponse();
  expect(data.choices[0]?.message.content).toContain("Simulated answer");
  expect(data.choices[0]?.finish_reason).toBe("stop");
  expect(data.model).toBe(model);
  expect(data.id).toBe(`chatcmpl-${response.headers.get("x-request-id")}`);
  expect(data.usage?.total_tokens).toBe(
    (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0),
  );
  expect(response.headers.get("x-modelgate-backend")).toBe("simulator");
});

test("a stream gives the same text, and usage only when asked", async () => {
  const whole = await client.chat.completions.create(say("hello"));
  for (const asked of [true, false]) {
    const stream = await client.chat.completions.create({
      ...say("hello"),
      stream: true,
      ...(asked ? { stream_options: { include_usage: true } } : {}),
    });
    let text = "";
    let reason: string | null = null;
    let tokens: number | undefined;
    for await (const chunk of stream) {
      expect(chunk.model).toBe(model);
      text += chunk.choices[0]?.delta.content ?? "";
      reason = chunk.choices[0]?.finish_reason ?? reason;
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(reason).toBe("stop");
    expect(tokens).toBe(asked ? whole.usage?.completion_tokens : undefined);
  }
});

test("a tool is called, and told of", async () => {
  const request = { ...say("Lyon"), tools: [weather] };
  const first = await client.chat.completions.create({ ...request, tool_choice: "required" });
  const call = first.choices[0]?.message.tool_calls?.[0];
  if (call?.type !== "function") throw new Error(`no call: ${JSON.stringify(first)}`);
  expect(call.function.name).toBe("weather");
  expect(JSON.parse(call.function.arguments)).toEqual({ city: "Lyon" });
  expect(first.choices[0]?.finish_reason).toBe("tool_calls");
  const second = await client.chat.completions.create({
    ...request,
    messages: [
      ...request.messages,
      first.choices[0]?.message ?? { role: "assistant", content: "" },
      { role: "tool", tool_call_id: call.id, content: "sunny" },
    ],
  });
  expect(second.choices[0]?.message.content).toContain("Simulated answer");
});

test("a tool call in a stream", async () => {
  const stream = client.chat.completions.stream({
    ...say("Lyon"),
    tools: [weather],
    tool_choice: "required",
  });
  const message = await stream.finalMessage();
  const call = message.tool_calls?.[0];
  expect(call?.type === "function" && call.function.name).toBe("weather");
  expect(call?.type === "function" && JSON.parse(call.function.arguments)).toEqual({ city: "Lyon" });
});

test("errors arrive as the client's own types", async () => {
  const unknown = await failure(connect("svc_test_nobody").chat.completions.create(say("x")));
  expect(unknown).toBeInstanceOf(OpenAI.AuthenticationError);
  expect(unknown.code).toBe("invalid_api_key");

  const missing = await failure(client.chat.completions.create({ ...say("x"), model: "gpt-4o" }));
  expect(missing).toBeInstanceOf(OpenAI.NotFoundError);
  expect(missing.message).toContain("Darwin");

  const wrong = await failure(client.chat.completions.create({ ...say("x"), temperature: 9 }));
  expect(wrong).toBeInstanceOf(OpenAI.BadRequestError);
  expect(wrong.param).toBe("temperature");

  const unheard = await failure(client.embeddings.create({ model, input: "x" }));
  expect(unheard).toBeInstanceOf(OpenAI.NotFoundError);
});

test("a limit of the key", async () => {
  const limited = connect(setting("LIMITED_KEY"));
  await limited.chat.completions.create(say("once"));
  const over = await failure(limited.chat.completions.create(say("twice")));
  expect(over).toBeInstanceOf(OpenAI.RateLimitError);
  expect(Number(over.headers?.get("retry-after"))).toBeGreaterThan(0);
});

test("a model server that fails, before and in the middle of a stream", async () => {
  const failed = await failure(client.chat.completions.create(say("[[scenario:status code=500]]")));
  expect(failed).toBeInstanceOf(OpenAI.InternalServerError);
  expect(failed.status).toBe(502);

  const stream = await client.chat.completions.create({ ...say("[[scenario:cut-after n=5]]"), stream: true });
  let text = "";
  const broken = await failure(
    (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    })(),
  );
  expect(text).not.toBe("");
  expect(broken.message).toContain("broke off");
});

test("a stream that is aborted ends at the model server", async () => {
  const journal = setting("MODEL_URL").replace(/\/v1$/, "/_mock/requests");
  const stream = await client.chat.completions.create({
    ...say("[[scenario:many-tokens n=3000 delay=20ms id=abort]]"),
    stream: true,
  });
  let seen = 0;
  for await (const _ of stream) {
    if (++seen === 3) stream.controller.abort();
  }
  await expect
    .poll(
      async () => {
        const { requests } = (await (await fetch(journal)).json()) as {
          requests: { scenario: string; outcome: string }[];
        };
        return requests.find((one) => one.scenario.includes("id=abort"))?.outcome;
      },
      { timeout: 10_000 },
    )
    .toBe("client_gone");
});
