import { expect, test } from "vitest";
import { alertRequest, outcome, silence, subject } from "./alerts";

const form = (entries: [string, string][]) => {
  const data = new FormData();
  for (const [name, value] of entries) data.append(name, value);
  return data;
};

test("a form becomes a request, with the shares in their order", () => {
  const data = form([
    ["thresholds", "100"],
    ["thresholds", "50"],
    ["mail", "on"],
    ["webhook_url", " https://example.com/hook "],
  ]);
  expect(alertRequest(data)).toEqual({
    thresholds: [50, 100],
    mail: true,
    webhook_url: "https://example.com/hook",
  });
});

test("nothing chosen asks for nothing", () => {
  expect(alertRequest(form([["webhook_url", "  "]]))).toEqual({
    thresholds: [],
    mail: false,
    webhook_url: null,
  });
});

test("settings that tell nobody say why", () => {
  expect(silence({ thresholds: [50], mail: false, webhook_url: null })).toContain("turn on mail");
  expect(silence({ thresholds: [], mail: true, webhook_url: null })).toContain("at least one share");
  expect(silence({ thresholds: [50], mail: true, webhook_url: null })).toBe("");
  expect(silence({ thresholds: [50], mail: false, webhook_url: "https://example.com" })).toBe("");
});

test("a notification says what it was about and how it stands", () => {
  expect(subject({ threshold: 80, day: "2026-01-05" })).toBe("80 % on 2026-01-05");
  expect(subject({ threshold: 0, day: "2026-01-05" })).toBe("Test");
  expect(outcome({ state: "waiting", reason: null }).text).toBe("on its way");
  expect(outcome({ state: "waiting", reason: "it answered 500" }).text).toBe("tried again later");
  expect(outcome({ state: "done", reason: null }).tint).toBe("good");
  expect(outcome({ state: "dead", reason: "it answered 500" }).tint).toBe("bad");
});
