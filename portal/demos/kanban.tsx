import type { Modelgate } from "@modelgate/sdk";
import { type FormEvent, useRef, useState } from "react";
import { Button } from "../src/ui/button";
import { Card } from "../src/ui/layout";
import { type Column, instruction, moved, parseBoard } from "./board";
import { Backend, chat, Problem, show } from "./frame";

const example = "A weekend workshop in Nairobi that teaches twenty people to build a solar lamp.";

function Kanban({ gateway }: { gateway: Modelgate }) {
  const [board, setBoard] = useState<Column[]>();
  const [answer, setAnswer] = useState("");
  const [backend, setBackend] = useState<string | null>(null);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);

  const make = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const prompt = String(new FormData(event.currentTarget).get("description") ?? "");
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setError(undefined);
    setBoard(undefined);
    let text = "";
    try {
      const stream = await gateway.agentStream(
        { prompt, model: "Darwin", system_prompt: instruction, temperature: 0.2, max_tokens: 4096 },
        { signal: controller.signal },
      );
      setBackend(stream.backend);
      for await (const event of stream) {
        if (event.type === "delta") text += event.text;
        setAnswer(text);
      }
      setBoard(parseBoard(text));
    } catch (thrown) {
      if (!controller.signal.aborted) setError(thrown);
    } finally {
      setBusy(false);
    }
  };

  return (
    <>
      <Card title="The project">
        <form aria-label="Project" onSubmit={make} className="flex flex-col gap-3">
          <label className="flex flex-col gap-1">
            <span className="font-medium">Description</span>
            <textarea
              name="description"
              className="field"
              rows={4}
              required
              maxLength={8000}
              defaultValue={example}
            />
          </label>
          <div className="flex flex-wrap items-center gap-3">
            {busy ? (
              <Button icon="stop" onClick={() => running.current?.abort()}>
                Stop
              </Button>
            ) : (
              <Button type="submit" look="primary" icon="spark">
                Make a board
              </Button>
            )}
            <span role="status" className="text-muted">
              {busy && `Writing: ${answer.length} characters`}
            </span>
          </div>
        </form>
      </Card>
      <Problem error={error} />
      {answer && <Backend name={backend} />}
      {board ? (
        <Board board={board} onChange={setBoard} />
      ) : (
        answer &&
        !busy &&
        !error && (
          <Card title="The answer is no board">
            <p className="mb-2 text-muted">
              The model was asked for JSON of columns and cards and wrote this:
            </p>
            <p className="break-words whitespace-pre-wrap">{answer}</p>
          </Card>
        )
      )}
    </>
  );
}

function Board({ board, onChange }: { board: Column[]; onChange: (board: Column[]) => void }) {
  return (
    <section
      aria-label="Board"
      className="grid gap-3 sm:grid-cols-2 lg:grid-cols-[repeat(auto-fit,minmax(13rem,1fr))]"
    >
      {board.map((column, at) => (
        <section
          // biome-ignore lint/suspicious/noArrayIndexKey: columns neither move nor change
          key={at}
          aria-label={column.title}
          className="rounded-xl bg-sunken p-3"
          onDragOver={(e) => e.preventDefault()}
          onDrop={(e) => onChange(moved(board, Number(e.dataTransfer.getData("text/plain")), at))}
        >
          <h2 className="mb-2 font-semibold">
            {column.title} <span className="font-normal text-muted">{column.cards.length}</span>
          </h2>
          <ul className="flex flex-col gap-2">
            {column.cards.map((card) => (
              <li
                key={card.id}
                draggable
                onDragStart={(e) => e.dataTransfer.setData("text/plain", String(card.id))}
                className="card p-3"
              >
                <p className="font-medium break-words">{card.title}</p>
                {card.detail && <p className="mt-1 text-sm break-words text-muted">{card.detail}</p>}
                <div className="mt-2 flex gap-1">
                  {[at - 1, at + 1].map((to) => (
                    <Button
                      key={to}
                      look="quiet"
                      className="px-2"
                      disabled={to < 0 || to >= board.length}
                      aria-label={`Move ${card.title} to ${board[to]?.title ?? "nowhere"}`}
                      onClick={() => onChange(moved(board, card.id, to))}
                    >
                      {to < at ? "←" : "→"}
                    </Button>
                  ))}
                </div>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </section>
  );
}

show({
  title: "Kanban board from a description",
  about: "Describe a project; a language model plans it. Cards move by drag and drop or with their arrows.",
  needs: [chat],
  children: (gateway) => <Kanban gateway={gateway} />,
});
