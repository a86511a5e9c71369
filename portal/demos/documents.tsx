import type { Modelgate } from "@modelgate/sdk";
import { type FormEvent, useRef, useState } from "react";
import { FileButton } from "../src/media/recorder";
import { Button } from "../src/ui/button";
import { Card } from "../src/ui/layout";
import { Backend, chat, Problem, show } from "./frame";
import { instructionFor, type Passage, passagesOf, relevant } from "./passages";

const mostBytes = 5_000_000;
const mostPassages = 8;

interface Turn {
  id: number;
  question: string;
  answer: string;
  passages: Passage[];
  backend: string | null;
}

function Documents({ gateway }: { gateway: Modelgate }) {
  const [name, setName] = useState("");
  const [passages, setPassages] = useState<Passage[]>([]);
  const [turns, setTurns] = useState<Turn[]>([]);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);

  const read = async (file: File) => {
    setError(undefined);
    if (file.size > mostBytes) return setError(new Error("The document is larger than 5 MB."));
    const text = new TextDecoder().decode(await file.arrayBuffer());
    if (text.includes("\u0000"))
      return setError(
        new Error("This is no text file. Formats like PDF are not read here; save it as text."),
      );
    const found = passagesOf(text);
    if (found.length === 0) return setError(new Error("The document is empty."));
    setName(file.name);
    setPassages(found);
    setTurns([]);
  };

  const ask = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const question = String(new FormData(form).get("question") ?? "");
    const used = relevant(passages, question, mostPassages);
    const id = turns.length + 1;
    const messages = turns.flatMap((t) => [
      { role: "user" as const, content: t.question },
      { role: "assistant" as const, content: t.answer },
    ]);
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setError(undefined);
    try {
      const stream = await gateway.agentStream(
        { prompt: question, messages, system_prompt: instructionFor(name, used), temperature: 0.2 },
        { signal: controller.signal },
      );
      form.reset();
      let turn: Turn = { id, question, answer: "", passages: used, backend: stream.backend };
      setTurns((old) => [...old, turn]);
      for await (const event of stream) {
        if (event.type !== "delta") continue;
        turn = { ...turn, answer: turn.answer + event.text };
        setTurns((old) => [...old.slice(0, -1), turn]);
      }
    } catch (thrown) {
      if (!controller.signal.aborted) setError(thrown);
    } finally {
      setBusy(false);
    }
  };

  return (
    <>
      <Card
        title="The document"
        about="Text, Markdown, CSV, HTML or JSON, up to 5 MB. It is cut into passages in this page."
      >
        <div className="flex flex-wrap items-center gap-3">
          <FileButton
            label="Choose a document"
            accept="text/*,.md,.csv,.json,.html"
            disabled={busy}
            onFile={(f) => void read(f)}
          />
          <span role="status" className="min-w-0 break-words text-muted">
            {name && `${name}: ${passages.length} ${passages.length === 1 ? "passage" : "passages"}`}
          </span>
        </div>
      </Card>
      <Problem error={error} />
      {passages.length > 0 && (
        <Card title="Chat">
          <div className="flex flex-col gap-4">
            {turns.map((t) => (
              <article key={t.id} aria-label={`Question ${t.id}`} className="flex flex-col gap-2">
                <p className="ml-auto max-w-[85%] rounded-xl bg-wash px-4 py-2 break-words">{t.question}</p>
                <Backend name={t.backend} />
                <output className="rounded-xl border border-line bg-sunken px-4 py-3 break-words whitespace-pre-wrap">
                  {t.answer || "…"}
                </output>
                <details className="text-sm">
                  <summary className="text-muted">
                    The model was given {t.passages.length} of {passages.length} passages
                  </summary>
                  <ol className="mt-2 flex flex-col gap-2">
                    {t.passages.map((p) => (
                      <li key={p.id} className="break-words whitespace-pre-wrap">
                        [{p.id}] {p.text}
                      </li>
                    ))}
                  </ol>
                </details>
              </article>
            ))}
            <form aria-label="Question" onSubmit={ask} className="flex flex-wrap items-end gap-2">
              <label className="flex min-w-60 flex-1 flex-col gap-1">
                <span className="font-medium">Question</span>
                <input
                  className="field"
                  name="question"
                  required
                  maxLength={2000}
                  placeholder="What is this about?"
                />
              </label>
              {busy ? (
                <Button icon="stop" onClick={() => running.current?.abort()}>
                  Stop
                </Button>
              ) : (
                <Button type="submit" look="primary" icon="send">
                  Ask
                </Button>
              )}
            </form>
          </div>
        </Card>
      )}
    </>
  );
}

show({
  title: "Chat with a document",
  about:
    "Upload a text and ask about it. The page finds the passages that fit the question and sends only these to the model.",
  needs: [chat],
  children: (gateway) => <Documents gateway={gateway} />,
});
