import { type FormEvent, StrictMode, useEffect, useMemo, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { matching } from "../src/app/matching";
import { Button } from "../src/ui/button";
import { Card, Notice, Skeleton, Table, Tag } from "../src/ui/layout";
import { applyTheme } from "../src/ui/theme";
import { type Document, members, type Operation, operations, target } from "./document";
import "../src/ui/style.css";

const meta = document.querySelector<HTMLMetaElement>("meta[name=modelgate-gateway]")?.content ?? "";
const bases = { control: location.origin, data: meta.startsWith("http") ? meta : location.origin };
const readNow = () => decodeURIComponent(location.hash.slice(1));

function Explorer() {
  const [contract, setContract] = useState<Document>();
  const [problem, setProblem] = useState("");
  const [wanted, setWanted] = useState("");
  const [credential, setCredential] = useState("");
  const [chosen, setChosen] = useState(readNow);
  useEffect(() => {
    fetch("/dev/openapi", { headers: { Accept: "application/json" } })
      .then(async (r) => setContract((await r.json()) as Document))
      .catch(() => setProblem("The document could not be read. Load the page again."));
    const changed = () => setChosen(readNow());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const all = useMemo(() => (contract ? operations(contract) : []), [contract]);
  const shown = matching(all, wanted, (o) => `${o.id} ${o.path} ${o.summary}`);
  const tags = [...new Set(shown.map((o) => o.tag))];
  const op = all.find((o) => o.id === chosen) ?? all.find((o) => o.id === "agent");
  return (
    <div className="mx-auto grid max-w-7xl gap-4 p-4 sm:p-6 md:grid-cols-[19rem_minmax(0,1fr)]">
      <header className="flex flex-wrap items-center justify-between gap-3 md:col-span-2">
        <h1 className="text-2xl font-semibold">API reference</h1>
        <nav aria-label="Elsewhere" className="flex gap-4">
          {[
            ["/dev/", "Portal"],
            ["/dev/docs-page", "Guides"],
          ].map(([href, label]) => (
            <a key={href} className="text-accent underline" href={href}>
              {label}
            </a>
          ))}
        </nav>
      </header>
      {problem && <Notice tint="bad">{problem}</Notice>}
      <div className="flex flex-col gap-3">
        <label className="flex flex-col gap-1">
          <span className="font-medium">Credential</span>
          <input
            className="field"
            type="password"
            autoComplete="off"
            placeholder="API key, or session token"
            value={credential}
            onChange={(e) => setCredential(e.target.value)}
          />
        </label>
        <p className="text-sm text-muted">
          It stays in this page's memory. API keys for the gateway, session tokens for the portal.
        </p>
        <input
          className="field"
          type="search"
          aria-label="Find an operation"
          placeholder="Find an operation"
          value={wanted}
          onChange={(e) => setWanted(e.target.value)}
        />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <nav aria-label="Operations" tabIndex={0} className="max-h-64 overflow-y-auto md:max-h-[70dvh]">
          {tags.map((tag) => (
            <section key={tag} aria-label={tag}>
              <h2 className="mt-2 text-sm font-semibold text-muted">{tag}</h2>
              <ul>
                {shown
                  .filter((o) => o.tag === tag)
                  .map((o) => (
                    <li key={o.id}>
                      <a
                        href={`#${o.id}`}
                        className="block rounded-md px-2 py-1 hover:bg-sunken aria-[current]:bg-wash aria-[current]:text-accent"
                        {...(o === op ? { "aria-current": "page" as const } : {})}
                      >
                        {o.summary}
                      </a>
                    </li>
                  ))}
              </ul>
            </section>
          ))}
        </nav>
      </div>
      <main className="flex min-w-0 flex-col gap-4">
        {!contract && !problem && <Skeleton lines={8} />}
        {contract && op && <Detail key={op.id} op={op} contract={contract} credential={credential} />}
      </main>
    </div>
  );
}

function Detail({ op, contract, credential }: { op: Operation; contract: Document; credential: string }) {
  const fields = members(contract, op.body?.schema);
  return (
    <>
      <Card title={op.summary}>
        <p className="break-words">
          <Tag tint="accent">{op.method}</Tag> <code className="font-mono">{bases[op.plane] + op.path}</code>{" "}
          {op.planned && <Tag tint="warn">planned: answers 501</Tag>}
        </p>
        {op.description && (
          <div className="mt-2 flex max-w-3xl flex-col gap-2 text-muted">
            <Prose text={op.description} />
          </div>
        )}
      </Card>
      <Try op={op} credential={credential} />
      {fields.length > 0 && (
        <Card title="Body">
          <Table label="Members of the body" head={["Name", "Type", "About"]}>
            {fields.map((f) => (
              <tr key={f.name}>
                <td>
                  <code className="font-mono">{f.name}</code> {f.required && <Tag>required</Tag>}
                </td>
                <td>{f.type}</td>
                <td>
                  <Prose text={f.about} />
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      <Card title="Answers">
        <Table label="Answers" head={["Status", "Meaning"]}>
          {op.answers.map((a) => (
            <tr key={a.status}>
              <td>{a.status}</td>
              <td>
                <Prose text={a.about} />
              </td>
            </tr>
          ))}
        </Table>
      </Card>
    </>
  );
}

/** The document's Markdown, as far as it uses it: paragraphs, lists and code. Lines within a paragraph flow. */
function Prose({ text }: { text: string }) {
  return text.split(/\n\s*\n/).map((paragraph) => (
    <p key={paragraph} className="whitespace-pre-line [overflow-wrap:anywhere]">
      {paragraph
        .replace(/\n(?!\s*- )/g, " ")
        .split(/(`[^`]+`)/)
        .map((part, i) =>
          part.startsWith("`") && part.length > 2 ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text never changes
            <code key={i} className="font-mono text-sm">
              {part.slice(1, -1)}
            </code>
          ) : (
            part
          ),
        )}
    </p>
  ));
}

const longestShown = 200_000; // characters of an answer

function Try({ op, credential }: { op: Operation; credential: string }) {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [body, setBody] = useState(op.body?.example ?? "");
  const [status, setStatus] = useState("");
  const [answer, setAnswer] = useState("");
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setAnswer("");
    setStatus("");
    const headers: Record<string, string> = op.body ? { "Content-Type": "application/json" } : {};
    if (credential) headers.Authorization = `Bearer ${credential}`;
    for (const p of op.parameters)
      if (p.in === "header" && given[p.name]) headers[p.name] = given[p.name] ?? "";
    try {
      const begun = performance.now();
      const response = await fetch(target(bases[op.plane], op, given), {
        method: op.method,
        headers,
        signal: controller.signal,
        ...(op.body ? { body } : {}),
      });
      setStatus(`${response.status}, the head after ${Math.round(performance.now() - begun)} ms`);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) break;
        text = (text + piece.value).slice(0, longestShown);
        setAnswer(text);
      }
    } catch {
      setStatus(
        controller.signal.aborted ? "stopped" : "No answer: the address cannot be reached from this page.",
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Try it" about="The call is real: it changes what it changes, and counts.">
      <form aria-label="Try it" onSubmit={send} className="flex flex-col gap-3">
        {op.parameters.map((p) => (
          <label key={p.name} className="flex flex-col gap-1">
            <span className="font-medium">
              {p.name} <span className="font-normal text-muted">in {p.in}</span>
            </span>
            <input
              className="field"
              required={p.in === "path"}
              value={given[p.name] ?? ""}
              onChange={(e) => setGiven({ ...given, [p.name]: e.target.value })}
            />
          </label>
        ))}
        {op.body && (
          <label className="flex flex-col gap-1">
            <span className="font-medium">Body</span>
            <textarea
              className="field font-mono text-sm"
              rows={Math.min(14, body.split("\n").length + 1)}
              spellCheck={false}
              value={body}
              onChange={(e) => setBody(e.target.value)}
            />
          </label>
        )}
        {op.form && <p className="text-muted">The body is a form with a file; send it with a program.</p>}
        <div className="flex flex-wrap items-center gap-3">
          {busy ? (
            <Button icon="stop" onClick={() => running.current?.abort()}>
              Stop
            </Button>
          ) : (
            <Button type="submit" look="primary" icon="send" disabled={op.form}>
              Send
            </Button>
          )}
          <span role="status">{status}</span>
        </div>
        {answer && (
          <textarea
            aria-label="Answer"
            readOnly
            rows={14}
            className="field bg-sunken font-mono text-sm"
            value={answer}
          />
        )}
      </form>
    </Card>
  );
}

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no place to show itself");
createRoot(root).render(
  <StrictMode>
    <Explorer />
  </StrictMode>,
);
