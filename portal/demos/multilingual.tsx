import { type Modelgate, ModelgateError, type Schemas } from "@modelgate/sdk";
import { type FormEvent, useEffect, useState } from "react";
import { blobOf } from "../src/media/bytes";
import { Recorder } from "../src/media/recorder";
import { Button } from "../src/ui/button";
import { Card } from "../src/ui/layout";
import { Backend, type Need, Problem, show } from "./frame";

type Language = Schemas["Language"];

interface Result {
  target: Language;
  translation?: Schemas["Translation"];
  speech?: { url: string; backend: string };
  error?: unknown;
  mute?: unknown; // why there is no sound
}

const mostTargets = 4;

function Pipeline({ gateway }: { gateway: Modelgate }) {
  const [languages, setLanguages] = useState<Language[]>([]);
  const [targets, setTargets] = useState<string[]>(["sw"]);
  const [text, setText] = useState("Good morning. The clinic opens at eight.");
  const [heard, setHeard] = useState<Schemas["Transcript"]>();
  const [results, setResults] = useState<Result[]>([]);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    gateway.translateLanguages().then((l) => setLanguages(l.languages), setError);
  }, [gateway]);
  useEffect(
    () => () => {
      for (const r of results) if (r.speech) URL.revokeObjectURL(r.speech.url);
    },
    [results],
  );

  const listen = async (audio: File) => {
    setBusy("Listening");
    setError(undefined);
    try {
      const transcript = await gateway.transcribe({ audio, language: "auto", filename: audio.name });
      setHeard(transcript);
      setText(transcript.text);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy("");
    }
  };

  const run = async (event: FormEvent) => {
    event.preventDefault();
    setBusy("Translating");
    setError(undefined);
    const chosen = languages.filter((l) => targets.includes(l.code));
    setResults(await Promise.all(chosen.map((target) => one(gateway, text, target))));
    setBusy("");
  };

  const open = languages.filter((l) => l.available);
  return (
    <>
      <Card title="1. Speak or write">
        <div className="flex flex-col gap-3">
          <Recorder onAudio={(a) => void listen(a)} disabled={busy !== ""} />
          {heard && (
            <p className="text-sm text-muted">
              Heard{heard.language ? ` in ${heard.language}` : ""}. <Backend name={heard.backend} />
            </p>
          )}
          <label className="flex flex-col gap-1">
            <span className="font-medium">Text</span>
            <textarea
              className="field"
              rows={3}
              maxLength={5000}
              value={text}
              onChange={(e) => setText(e.target.value)}
            />
          </label>
        </div>
      </Card>
      <Card title="2. Translate and say it">
        <form aria-label="Translation" onSubmit={run} className="flex flex-col gap-3">
          <label className="flex flex-col gap-1">
            <span className="font-medium">
              Languages, up to {mostTargets}{" "}
              <span className="font-normal text-muted">
                ({open.length} of {languages.length} available)
              </span>
            </span>
            <select
              multiple
              required
              size={8}
              className="field"
              value={targets}
              onChange={(e) =>
                setTargets([...e.target.selectedOptions].map((o) => o.value).slice(0, mostTargets))
              }
            >
              {languages.map((l) => (
                <option key={l.code} value={l.code} disabled={!l.available}>
                  {l.name}
                  {l.available ? (l.via === "chat" ? " (by a chat model)" : "") : " (not available)"}
                </option>
              ))}
            </select>
          </label>
          <div className="flex items-center gap-3">
            <Button type="submit" look="primary" icon="send" disabled={busy !== "" || !text.trim()}>
              Run the pipeline
            </Button>
            <span role="status" className="text-muted">
              {busy && `${busy} …`}
            </span>
          </div>
        </form>
      </Card>
      <Problem error={error} />
      {results.map((r) => (
        <Card key={r.target.code} title={r.target.name}>
          {r.translation && (
            <div className="flex flex-col gap-2">
              <Backend name={r.translation.backend} />
              <p lang={r.target.code} className="text-lg break-words">
                {r.translation.translated_text}
              </p>
              {r.speech ? (
                // biome-ignore lint/a11y/useMediaCaption: what is said stands above it
                <audio
                  controls
                  src={r.speech.url}
                  aria-label={`${r.target.name}, spoken`}
                  className="w-full"
                />
              ) : (
                <p className="text-sm text-muted">
                  Not spoken: {r.mute instanceof Error ? r.mute.message : String(r.mute)}
                </p>
              )}
            </div>
          )}
          <Problem error={r.error} />
        </Card>
      ))}
    </>
  );
}

async function one(gateway: Modelgate, text: string, target: Language): Promise<Result> {
  try {
    const translation = await gateway.translate({ text, source: "auto", target: target.code });
    try {
      const speech = await gateway.synthesize({ text: translation.translated_text, language: target.code });
      const type = speech.format === "mp3" ? "audio/mpeg" : "audio/wav";
      return {
        target,
        translation,
        speech: { url: URL.createObjectURL(blobOf(speech.audio_b64, type)), backend: speech.backend },
      };
    } catch (mute) {
      return { target, translation, mute };
    }
  } catch (error) {
    return { target, error };
  }
}

const needs: Need[] = [
  {
    what: "Speech to text",
    missing: async (gateway) => {
      const state = await gateway.sttStatus();
      return state.available ? undefined : (state.detail ?? "it is not available.");
    },
  },
  {
    what: "Translation",
    missing: async (gateway) => {
      const { languages } = await gateway.translateLanguages();
      return languages.some((l) => l.available)
        ? undefined
        : "no translator and no chat model is configured.";
    },
  },
  {
    what: "Text to speech",
    missing: async (gateway) => {
      const catalog = await gateway.models();
      const model = catalog.models.find((m) => m.tasks.includes("text_to_speech"));
      if (!model)
        throw new ModelgateError("the key may not use it, or no server is configured for it.", {
          status: 503,
        });
      return model.available ? undefined : (model.detail ?? "it is not available.");
    },
  },
];

show({
  title: "Multilingual pipeline",
  about:
    "Speak or write in one language, read and hear it in others, African languages first among them: three calls, one after the other.",
  needs,
  children: (gateway) => <Pipeline gateway={gateway} />,
});
