import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { asFailure, type Failure } from "../api/failure";
import { callPlayground, gatewayURL } from "../api/gateway";
import { catalog as catalogQuery } from "../api/queries";
import { base64 } from "../media/bytes";
import { FileButton, Recorder } from "../media/recorder";
import { snapshot, Webcam } from "../media/webcam";
import type { AgentBody } from "../snippet/snippet";
import { SnippetTabs } from "../snippet/tabs";
import { type Answer, streamAnswer } from "../stream/answer";
import { passageText } from "../stream/passage";
import { Button } from "../ui/button";
import { Card, Failed } from "../ui/layout";
import { choiceOf, type UsableKey } from "./key-picker";
import { type Picture, readPicture } from "./picture";
import { AnswerView, Asked, Speak } from "./playground-answer";

/** One question and its answer. */
interface Turn {
  id: number;
  prompt: string;
  picture: Picture | undefined;
  answer: Answer | undefined;
}

/** What a call is made with; kept as text, as it is typed. */
interface Settings {
  model: string;
  system: string;
  temperature: string;
  maxTokens: string;
}

const asShipped: Settings = { model: "Darwin", system: "", temperature: "0.7", maxTokens: "2048" };

function body(settings: Settings, turns: Turn[], prompt: string): AgentBody {
  const messages = turns.flatMap((t) =>
    t.answer && t.answer.pieces > 0
      ? [
          { role: "user" as const, content: t.prompt },
          { role: "assistant" as const, content: passageText(t.answer.passage) },
        ]
      : [],
  );
  return {
    prompt,
    model: settings.model,
    stream: true,
    ...(messages.length > 0 ? { messages } : {}),
    ...(settings.system ? { system_prompt: settings.system } : {}),
    temperature: Number(settings.temperature),
    max_tokens: Number(settings.maxTokens),
  };
}

/** A conversation with a language model: text streams, with a picture from a file or the camera, spoken or typed. */
export function Chat({ chosen }: { chosen: UsableKey | undefined }) {
  const key = choiceOf(chosen);
  const video = useRef<HTMLVideoElement>(null);
  const [live, setLive] = useState(false);
  const [more, setMore] = useState(false);
  const [hearing, setHearing] = useState(false);
  const [settings, setSettings] = useState(asShipped);
  const [prompt, setPrompt] = useState("Say hello in three languages.");
  const [picture, setPicture] = useState<Picture>();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [failure, setFailure] = useState<Failure>();
  const [code, setCode] = useState(false);
  const running = useRef<AbortController>(undefined);
  const [busy, setBusy] = useState(false);
  const next = useRef(1);
  useEffect(() => () => running.current?.abort(), []);

  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || !prompt.trim()) return;
    const id = next.current++;
    const asked = { ...body(settings, turns, prompt), ...(picture ? { image_b64: picture.base64 } : {}) };
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setFailure(undefined);
    try {
      setTurns((old) => [...old, { id, prompt, picture, answer: undefined }]);
      setPrompt("");
      setPicture(undefined);
      const call = () => callPlayground("/stream", key, { ...asked, endpoint: "agent" }, controller.signal);
      await streamAnswer(call, controller.signal, (answer) =>
        setTurns((old) => old.map((t) => (t.id === id ? { ...t, answer } : t))),
      );
    } catch (thrown) {
      setFailure(asFailure(thrown));
    } finally {
      running.current = undefined;
      setBusy(false);
    }
  };
  const take = async (file: File | undefined) => {
    if (!file) return;
    try {
      setPicture(await readPicture(file));
      setFailure(undefined);
    } catch (thrown) {
      setFailure(asFailure(thrown));
    }
  };
  const hear = async (audio: File) => {
    setHearing(true);
    setFailure(undefined);
    try {
      const body = {
        endpoint: "transcribe",
        audio_base64: await base64(audio),
        language: "auto",
        filename: audio.name,
      };
      const heard = (await (await callPlayground("/voice", key, body)).json()) as { text: string };
      setPrompt((old) => (old.trim() ? `${old.trim()} ${heard.text}` : heard.text));
    } catch (thrown) {
      setFailure(asFailure(thrown));
    } finally {
      setHearing(false);
    }
  };
  const last = turns[turns.length - 1];
  const shownBody = body(settings, turns, prompt || last?.prompt || "Say hello.");

  return (
    <div className="grid items-start gap-4 xl:grid-cols-[20rem_1fr]">
      <Card title="Parameters">
        <div className="flex flex-col gap-4">
          <Controls settings={settings} onChange={setSettings} />
        </div>
      </Card>
      <div className="flex min-w-0 flex-col gap-4">
        <Card
          title="Conversation"
          actions={
            <>
              <Button icon="code" aria-expanded={code} onClick={() => setCode(!code)}>
                Code
              </Button>
              <Button disabled={busy || turns.length === 0} onClick={() => setTurns([])}>
                Clear
              </Button>
            </>
          }
        >
          {code && (
            <div className="mb-4">
              <SnippetTabs sample={{ gateway: gatewayURL(), body: shownBody, imageFile: picture?.name }} />
            </div>
          )}
          <div className="flex flex-col gap-5">
            {turns.map((t) => (
              <article key={t.id} aria-label="Question and answer" className="flex flex-col gap-3">
                <Asked prompt={t.prompt} picture={t.picture} />
                {t.answer && <AnswerView answer={t.answer} />}
                {t.answer?.state === "done" && t.answer.pieces > 0 && (
                  <Speak appKey={key} text={passageText(t.answer.passage)} />
                )}
              </article>
            ))}
            {failure && <Failed failure={failure} />}
            <form aria-label="Prompt" onSubmit={send} className="flex flex-col gap-3">
              {picture && (
                <div className="flex items-center gap-3">
                  <img
                    src={picture.url}
                    alt=""
                    className="size-16 rounded-lg border border-line object-cover"
                  />
                  <span className="min-w-0 truncate text-muted">{picture.name}</span>
                  <Button look="quiet" onClick={() => setPicture(undefined)}>
                    Remove
                  </Button>
                </div>
              )}
              <textarea
                aria-label="Your message"
                className="field"
                rows={3}
                required
                placeholder="Ask something. Enter sends, Shift-Enter begins a new line."
                value={prompt}
                onChange={(e) => setPrompt(e.target.value)}
                onKeyDown={(e) => {
                  if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) {
                    e.preventDefault();
                    e.currentTarget.form?.requestSubmit();
                  }
                }}
              />
              <div className="flex flex-wrap items-center justify-between gap-2">
                <div className="flex flex-wrap gap-2">
                  <FileButton label="Image" accept="image/*" onFile={(f) => void take(f)} />
                  <Button icon="camera" aria-expanded={more} onClick={() => setMore(!more)}>
                    Camera and microphone
                  </Button>
                </div>
                {busy ? (
                  <Button icon="stop" onClick={() => running.current?.abort()}>
                    Stop
                  </Button>
                ) : (
                  <Button type="submit" look="primary" icon="send">
                    Send
                  </Button>
                )}
              </div>
            </form>
            {more && (
              <div className="grid gap-4 sm:grid-cols-2">
                <div className="flex flex-col gap-2">
                  <Webcam video={video} onLive={setLive} />
                  {live && (
                    <Button icon="image" onClick={async () => void take(await snapshot(video.current))}>
                      Take a picture
                    </Button>
                  )}
                </div>
                <div className="flex flex-col gap-2">
                  <Recorder onAudio={(a) => void hear(a)} disabled={hearing} />
                  <p role="status" className="text-sm text-muted">
                    {hearing ? "Listening …" : "What you say is written into the message."}
                  </p>
                </div>
              </div>
            )}
          </div>
        </Card>
      </div>
    </div>
  );
}

function Controls({ settings, onChange }: { settings: Settings; onChange: (s: Settings) => void }) {
  const catalog = useQuery(catalogQuery);
  const names = catalog.data?.models.map((m) => m.id) ?? [];
  const models = names.includes(settings.model) ? names : [settings.model, ...names];
  return (
    <>
      <label className="flex flex-col gap-1">
        <span className="font-medium">Model</span>
        <select
          className="field"
          value={settings.model}
          onChange={(e) => onChange({ ...settings, model: e.target.value })}
        >
          {models.map((m) => (
            <option key={m}>{m}</option>
          ))}
        </select>
      </label>
      <label className="flex flex-col gap-1">
        <span className="font-medium">System prompt</span>
        <textarea
          className="field"
          rows={3}
          value={settings.system}
          onChange={(e) => onChange({ ...settings, system: e.target.value })}
        />
      </label>
      <label className="flex flex-col gap-1">
        <span className="flex justify-between font-medium">
          Temperature <output className="text-muted tabular-nums">{settings.temperature}</output>
        </span>
        <input
          type="range"
          min={0}
          max={2}
          step={0.1}
          className="accent-button"
          value={settings.temperature}
          onChange={(e) => onChange({ ...settings, temperature: e.target.value })}
        />
      </label>
      <label className="flex flex-col gap-1">
        <span className="font-medium">Most tokens</span>
        <input
          className="field"
          type="number"
          min={1}
          max={1_000_000}
          value={settings.maxTokens}
          onChange={(e) => onChange({ ...settings, maxTokens: e.target.value })}
        />
      </label>
    </>
  );
}
