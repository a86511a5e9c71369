import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentBody, FileRef, type Language, languages, snippet } from "./snippet";

// The snippets run here as they are shown, against a server that keeps what they sent. (e2e runs them against the gateway.)
const key = "svc_test_0123456789";
const tricky = `It's "quoted", \\ backslashed, $HOME \`x\` ünï 😀\nnext line %s </script>`;
const dir = mkdtempSync(join(tmpdir(), "snippet-"));
let seen: { authorization: string | undefined; body: unknown; url?: string | undefined };

const server = createServer(async (req: IncomingMessage, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as AgentBody;
  seen = { authorization: req.headers.authorization, body };
  if (req.url === "/api/v1/deep-search") {
    res.setHeader("Content-Type", "text/event-stream");
    res.end(": keep\n\ndata: One\ndata: \ndata: two \n\ndata: three\n\ndata: [DONE]\n\n");
    return;
  }
  if (!body.stream) {
    res.setHeader("Content-Type", "application/json");
    res.end('{"type":"text","text":"Hello you"}');
    return;
  }
  res.setHeader("Content-Type", "text/event-stream");
  res.end(
    ': keep\n\ndata: {"type":"delta","text":"Hello "}\n\ndata: {"type":"delta","text":"you"}\n\ndata: [DONE]\n\n',
  );
});

beforeAll(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)));
afterAll(() => server.close());

const commands: Record<Language, { file: string; run: (file: string) => [string, string[]] }> = {
  curl: { file: "call.sh", run: (f) => ["bash", [f]] },
  Python: { file: "call.py", run: (f) => ["python3", [f]] },
  JavaScript: { file: "call.mjs", run: (f) => ["node", [f]] },
  Go: { file: "call.go", run: (f) => ["go", ["run", f]] },
};

async function run(language: Language, text: string): Promise<string> {
  const file = join(dir, commands[language].file);
  writeFileSync(file, text);
  const [program, args] = commands[language].run(file);
  const { execFile } = await import("node:child_process");
  return new Promise((done, fail) =>
    execFile(program, args, { cwd: dir, env: { ...process.env, MODELGATE_KEY: key } }, (error, out, err) =>
      error ? fail(new Error(`${error.message}\n${err}`)) : done(out),
    ),
  );
}

function has(program: string): boolean {
  try {
    execFileSync(program, [program === "go" ? "version" : "--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

for (const language of languages) {
  const program = { curl: "curl", Python: "python3", JavaScript: "node", Go: "go" }[language];
  for (const stream of [true, false]) {
    test.skipIf(!has(program))(
      `${language} sends what it says, ${stream ? "streamed" : "whole"}`,
      async () => {
        const gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const body: AgentBody = {
          prompt: tricky,
          stream,
          temperature: 0.2,
          messages: [{ role: "user", content: "Hi" }],
        };
        const out = await run(language, snippet(language, { gateway, body }));
        expect(seen).toEqual({ authorization: `Bearer ${key}`, body });
        expect(out).toContain(stream && language === "curl" ? '"text":"Hello "' : "Hello you");

        writeFileSync(join(dir, "it's.png"), Buffer.from([137, 80, 78, 71, 0, 255]));
        await run(language, snippet(language, { gateway, body, apiKey: key, imageFile: "it's.png" }));
        const sent = seen.body as AgentBody;
        expect(sent.image_b64).toBe(readFileSync(join(dir, "it's.png"), "base64"));
        expect(sent.prompt).toBe(tricky);
      },
      120_000,
    );
  }
  test.skipIf(!has(program))(
    `${language} calls other operations, with files inside of the body`,
    async () => {
      const gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const image = Buffer.from([137, 80, 78, 71, 0, 254]);
      writeFileSync(join(dir, "face.png"), image);
      const body = {
        task: "face",
        input_data: {
          probe: { image_base64: new FileRef("face.png") },
          list: [new FileRef("face.png"), tricky],
        },
      };
      await run(language, snippet(language, { gateway, path: "/api/v1/compare", body }));
      const sample = image.toString("base64");
      expect(seen.body).toEqual({
        task: "face",
        input_data: { probe: { image_base64: sample }, list: [sample, tricky] },
      });
      const search = { gateway, path: "/api/v1/deep-search", body: { query: tricky }, textEvents: true };
      const out = await run(language, snippet(language, search));
      expect(seen.body).toEqual({ query: tricky });
      expect(out.trimEnd()).toContain(language === "curl" ? "data: three" : "One\n\ntwo three");
    },
    120_000,
  );
}
