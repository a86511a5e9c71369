import { expect, test } from "vitest";
import { events, type StreamEvent } from "./sse";

async function collect(chunks: string[]): Promise<StreamEvent[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const c of chunks) controller.enqueue(encoder.encode(c));
      controller.close();
    },
  });
  const out: StreamEvent[] = [];
  for await (const e of events(body)) out.push(e);
  return out;
}

const stream =
  ': keep-alive\n\ndata: {"type":"delta","text":"hé"}\n\ndata: {"type":"delta","text":"llo"}\r\n\r\ndata: [DONE]\n\n';
const want = [{ type: "delta", text: "hé" }, { type: "delta", text: "llo" }, { type: "done" }];

test("events come whole however the bytes are cut", async () => {
  expect(await collect([stream])).toEqual(want);
  for (let at = 1; at < stream.length; at++) {
    expect(await collect([stream.slice(0, at), stream.slice(at)])).toEqual(want);
  }
});

test("a stream that breaks off has no done event", async () => {
  const cut = await collect(['data: {"type":"delta","text":"a"}\n\ndata: {"type":"del']);
  expect(cut).toEqual([{ type: "delta", text: "a" }]);
});

test("an error event is handed on", async () => {
  const got = await collect(['data: {"type":"error","status":502,"detail":"cut"}\n\ndata: [DONE]\n\n']);
  expect(got).toEqual([{ type: "error", status: 502, detail: "cut" }, { type: "done" }]);
});

test("an answer that is not text comes whole", async () => {
  const got = await collect([
    'data: {"type":"image","image_b64":"iVBORw==","model":"Nova"}\n\ndata: [DONE]\n\n',
  ]);
  expect(got).toEqual([
    { type: "answer", answer: { type: "image", image_b64: "iVBORw==", model: "Nova" } },
    { type: "done" },
  ]);
});
