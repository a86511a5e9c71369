import OpenAI from "openai";
import { expect, test } from "vitest";

// The official client, which we did not write, against the simulator: what it accepts is the real protocol.
// bench/journey starts the simulator and sets MODEL_URL.
const url = process.env.MODEL_URL;
if (!url) throw new Error("MODEL_URL is not set: run this through `go test ./journey` in bench");
const client = new OpenAI({ baseURL: url, apiKey: "unused", maxRetries: 0 });
const model = "mock";

test("a whole answer with usage", async () => {
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: "hello" }],
  });
  expect(answer.choices[0]?.message.content).toContain("Simulated answer");
  expect(answer.choices[0]?.finish_reason).toBe("stop");
  expect(answer.usage?.total_tokens).toBe(
    (answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0),
  );
});

test("a stream gives the same text, and usage when asked", async () => {
  const messages = [{ role: "user" as const, content: "hello" }];
  const whole = await client.chat.completions.create({ model, messages });
  const stream = await client.chat.completions.create({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let tokens = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(tokens).toBe(whole.usage?.completion_tokens);
});

test("a forced tool call", async () => {
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: "the weather in Lyon" }],
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ],
    tool_choice: "required",
  });
  const call = answer.choices[0]?.message.tool_calls?.[0];
  expect(call?.type === "function" && call.function.name).toBe("weather");
  expect(call?.type === "function" && typeof JSON.parse(call.function.arguments).city).toBe("string");
});

test("errors arrive as the client's own types", async () => {
  await expect(
    client.chat.completions.create({ model: "no-such-model", messages: [{ role: "user", content: "x" }] }),
  ).rejects.toThrow(OpenAI.NotFoundError);
  await expect(
    client.chat.completions.create({ model: "mock:status-429", messages: [{ role: "user", content: "x" }] }),
  ).rejects.toThrow(OpenAI.RateLimitError);
});
