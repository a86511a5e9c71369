import { expect, test } from "vitest";
import { wav } from "./wav";

test("a WAV file has its lengths, its rate and clipped samples", async () => {
  const view = new DataView(await wav(new Float32Array([0, 1, -1, 2, -2]), 16_000).arrayBuffer());
  expect(view.byteLength).toBe(44 + 10);
  expect([view.getUint32(4, true), view.getUint32(40, true), view.getUint32(24, true)]).toEqual([
    46, 10, 16_000,
  ]);
  expect([0, 1, 2, 3, 4].map((i) => view.getInt16(44 + 2 * i, true))).toEqual([
    0, 32767, -32767, 32767, -32767,
  ]);
});
