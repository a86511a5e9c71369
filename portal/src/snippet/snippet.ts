import type { Schemas } from "../api/client";

export const languages = ["curl", "Python", "JavaScript", "Go"] as const;
export type Language = (typeof languages)[number];

/** The body of a call without what is absent. */
export type AgentBody = Partial<Schemas["AgentRequest"]> & { prompt: string };

/** Stands in a body for the content of a file in base64. */
export class FileRef {
  constructor(readonly name: string) {}
}

export interface Sample {
  gateway: string;
  /** The operation; the agent's unless said otherwise. */
  path?: string | undefined;
  body: AgentBody | { [member: string]: unknown };
  /** Events that hold text and no JSON, as those of a deep search. */
  textEvents?: boolean | undefined;
  /** The key itself; without it the snippets read MODELGATE_KEY. */
  apiKey?: string | undefined;
  /** Name of an image file that the snippet reads and sends as image_b64. */
  imageFile?: string | undefined;
}

/** A call as a complete program that needs nothing but the language's own library. */
export function snippet(language: Language, sample: Sample): string {
  const { path = "/api/v1/agent", imageFile, textEvents = false } = sample;
  const body = Object.entries(sample.body).filter(([, v]) => v !== undefined);
  if (imageFile) body.push(["image_b64", new FileRef(imageFile)]);
  const streamed = textEvents || sample.body.stream === true;
  return writers[language]({
    url: sample.gateway + path,
    body,
    apiKey: sample.apiKey,
    files: hasFile(sample.body) || imageFile !== undefined,
    answer: textEvents ? "text" : streamed ? "events" : "json",
  });
}

/** A sample as the writers take it. */
interface Program {
  url: string;
  body: [string, unknown][];
  apiKey: string | undefined;
  files: boolean;
  answer: "json" | "events" | "text";
}

function hasFile(value: unknown): boolean {
  if (value instanceof FileRef) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasFile);
}

const writers: Record<Language, (p: Program) => string> = {
  curl,
  Python: python,
  JavaScript: javascript,
  Go: go,
};

// In a single-quoted word of the shell, a quote ends the word, stands escaped, and begins it again.
const inShell = (text: string): string => text.replaceAll("'", `'\\''`);

function curl({ url, body, apiKey }: Program): string {
  const json = JSON.stringify(Object.fromEntries(body), (_, v) =>
    v instanceof FileRef ? `\u0000${v.name}\u0000` : v,
  );
  const data = inShell(json).replaceAll(
    /\\u0000(.*?)\\u0000/g,
    (_, name: string) => `'"$(base64 < '${name}' | tr -d '\\n')"'`,
  );
  return `curl -N ${url} \\
  -H "Authorization: Bearer ${apiKey ?? "$MODELGATE_KEY"}" \\
  -H "Content-Type: application/json" \\
  -d '${data}'`;
}

const pythonWords: Record<string, string> = { true: "True", false: "False", null: "None" };

/** A JSON value as Python writes it. JSON's strings are Python's. */
function inPython(value: unknown): string {
  if (value instanceof FileRef)
    return `base64.b64encode(open(${JSON.stringify(value.name)}, "rb").read()).decode()`;
  if (Array.isArray(value)) return `[${value.map(inPython).join(", ")}]`;
  if (value && typeof value === "object")
    return `{${Object.entries(value)
      .map(([k, v]) => `${JSON.stringify(k)}: ${inPython(v)}`)
      .join(", ")}}`;
  const json = JSON.stringify(value);
  return pythonWords[json] ?? json;
}

const pythonReads: Record<Program["answer"], string> = {
  events: `with urllib.request.urlopen(request) as answer:
    for line in answer:
        if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
            continue
        event = json.loads(line[6:])
        if event["type"] == "error":
            raise SystemExit(event["detail"])
        print(event.get("text", event), end="", flush=True)
print()`,
  text: `with urllib.request.urlopen(request) as answer:
    more, failed = "", False  # the lines of one event are lines of the text
    for line in answer:
        text = line.decode().rstrip("\\r\\n")
        if text == "data: [DONE]":
            break
        failed = failed or text == "event: error"
        if text.startswith("data:"):
            if failed:
                raise SystemExit(json.loads(text[5:])["detail"])
            print(more + text[5:].removeprefix(" "), end="", flush=True)
            more = "\\n"
        elif not text:
            more = ""
print()`,
  json: `with urllib.request.urlopen(request) as answer:
    event = json.load(answer)
    print(event.get("text", event))`,
};

function python({ url, body, apiKey, files, answer }: Program): string {
  const fields = body.map(([k, v]) => `    ${JSON.stringify(k)}: ${inPython(v)},`);
  const modules = [...(files ? ["base64"] : []), "json", ...(apiKey ? [] : ["os"]), "urllib.request"];
  return `${modules.map((m) => `import ${m}`).join("\n")}

body = {
${fields.join("\n")}
}
request = urllib.request.Request(
    "${url}",
    data=json.dumps(body).encode(),
    headers={
        "Authorization": "Bearer " + ${apiKey ? JSON.stringify(apiKey) : 'os.environ["MODELGATE_KEY"]'},
        "Content-Type": "application/json",
    },
)
${pythonReads[answer]}`;
}

/** A JSON value as JavaScript writes it. */
function inJavaScript(value: unknown): string {
  if (value instanceof FileRef) return `readFileSync(${JSON.stringify(value.name)}, "base64")`;
  if (!hasFile(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inJavaScript).join(", ")}]`;
  return `{ ${Object.entries(value as object)
    .map(([k, v]) => `${JSON.stringify(k)}: ${inJavaScript(v)}`)
    .join(", ")} }`;
}

const javascriptLines = (each: string, before = "") => `let rest = "";
${before}for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
${each}
  }
}
console.log();`;

const javascriptReads: Record<Program["answer"], string> = {
  events: javascriptLines(`    if (!line.startsWith("data: ") || line.includes("[DONE]")) continue;
    const event = JSON.parse(line.slice(6));
    if (event.type === "error") throw new Error(event.detail);
    process.stdout.write(event.text ?? JSON.stringify(event));`),
  text: javascriptLines(
    `    if (line === "data: [DONE]") continue;
    failed ||= line === "event: error";
    if (line.startsWith("data:")) {
      const text = line.slice(5).replace(/^ /, "");
      if (failed) throw new Error(JSON.parse(text).detail);
      process.stdout.write(more + text);
      more = "\\n";
    } else if (line === "") more = "";`,
    `let more = ""; // the lines of one event are lines of the text
let failed = false;
`,
  ),
  json: `const event = await answer.json();
console.log(event.text ?? event);`,
};

function javascript({ url, body, apiKey, files, answer }: Program): string {
  const fields = body.map(([k, v]) => `    ${k}: ${inJavaScript(v)},`);
  return `// Node 20 or newer; save as call.mjs
${files ? 'import { readFileSync } from "node:fs";\n\n' : ""}const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    Authorization: ${apiKey ? `"Bearer ${apiKey}"` : `\`Bearer \${process.env.MODELGATE_KEY}\``},
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
${fields.join("\n")}
  }),
});
if (!answer.ok) throw new Error((await answer.json()).detail);
${javascriptReads[answer]}`;
}

/** A JSON value as Go writes it, for a map of any. JSON's strings are Go's, but for these two separators and surrogates. */
function inGo(value: unknown): string {
  if (value instanceof FileRef) return `file(${JSON.stringify(value.name)})`;
  if (value === null) return "nil";
  if (Array.isArray(value)) return `[]any{${value.map(inGo).join(", ")}}`;
  if (typeof value === "object")
    return `map[string]any{${Object.entries(value)
      .map(([k, v]) => `${JSON.stringify(k)}: ${inGo(v)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

const goReads: Record<Program["answer"], string> = {
  events: `		line := bytes.TrimPrefix(lines.Bytes(), []byte("data: "))
		var event struct{ Type, Text, Detail string }
		if json.Unmarshal(line, &event) != nil {
			continue // an empty line, a comment or [DONE]
		}
		if event.Detail != "" {
			log.Fatal(event.Detail)
		}
		fmt.Print(event.Text)`,
  json: `		var event struct{ Text, Detail string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Text == "" {
			fmt.Print(lines.Text())
		} else {
			fmt.Print(event.Text)
		}`,
  text: `		line := lines.Text()
		text, data := strings.CutPrefix(line, "data:")
		switch text = strings.TrimPrefix(text, " "); {
		case line == "event: error":
			failed = true
		case data && failed:
			log.Fatal(text)
		case data && text != "[DONE]":
			fmt.Print(more + text)
			more = "\\n" // the lines of one event are lines of the text
		case line == "":
			more = ""
		}`,
};

function go({ url, body, apiKey, files, answer }: Program): string {
  const fields = body.map(([k, v]) => `\t\t${JSON.stringify(k)}: ${inGo(v)},`);
  const imports = [
    "bufio",
    "bytes",
    ...(files ? ["encoding/base64"] : []),
    "encoding/json",
    "fmt",
    "log",
    "net/http",
    ...(apiKey && !files ? [] : ["os"]),
    ...(answer === "text" ? ["strings"] : []),
  ];
  return `package main

import (
${imports.map((i) => `\t"${i}"`).join("\n")}
)
${
  files
    ? `
func file(name string) string {
	content, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(content)
}
`
    : ""
}
func main() {
	body, err := json.Marshal(map[string]any{
${fields.join("\n")}
	})
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest("POST", "${url}", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+${apiKey ? JSON.stringify(apiKey) : `os.Getenv("MODELGATE_KEY")`})
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 64<<20)
${answer === "text" ? '\tmore, failed := "", false\n' : ""}	for lines.Scan() {
${goReads[answer]}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
}`;
}
