import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

// The programs of the README run as they stand, on the built module.
test("the programs of the README run", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sdk-"));
  execFileSync(process.execPath, [join(import.meta.dirname, "../../build.mjs"), dir], { stdio: "inherit" });
  expect(readFileSync(join(dir, "modelgate.js"), "utf8")).not.toMatch(/^\s*import /m);
  expect(readFileSync(join(dir, "modelgate.d.ts"), "utf8")).toContain('from "./contract.js"');

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { prompt: string; stream?: boolean };
    if (req.headers.authorization !== "Bearer svc_test_readme" || body.prompt === "") {
      res.writeHead(400, { "Content-Type": "application/json" }).end('{"detail":"The prompt is missing."}');
    } else if (body.stream) {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.end(
        'data: {"type":"delta","text":"The "}\n\ndata: {"type":"delta","text":"sea."}\n\ndata: [DONE]\n\n',
      );
    } else {
      res.writeHead(200, { "Content-Type": "application/json" }).end('{"type":"text","text":"Habari!"}');
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { ...process.env, MODELGATE_URL: url, MODELGATE_KEY: "svc_test_readme" };
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const programs = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map((m) => m[1] ?? "");
  const said: string[] = [];
  for (const [i, program] of programs.entries()) {
    const file = join(dir, `program-${i}.mjs`);
    writeFileSync(file, program);
    said.push(
      await new Promise((done, fail) =>
        execFile(process.execPath, [file], { env }, (error, out, err) =>
          error ? fail(new Error(`${error.message}\n${err}`)) : done(out.trim()),
        ),
      ),
    );
  }
  server.close();
  expect(said).toEqual(["Habari!", "The sea.", "400 The prompt is missing. [] null"]);
}, 120_000);
