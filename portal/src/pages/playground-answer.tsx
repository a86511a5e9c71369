import { memo, useEffect, useState } from "react";
import { asFailure, type Failure } from "../api/failure";
import { callPlayground, type KeyChoice } from "../api/gateway";
import { duration } from "../format/number";
import { blobOf } from "../media/bytes";
import { type Answer, rate } from "../stream/answer";
import { passageText } from "../stream/passage";
import { Button, CopyButton } from "../ui/button";
import { Failed, Tag } from "../ui/layout";
import type { Picture } from "./picture";

/** A question as it was asked. */
export const Asked = memo(function Asked({
  prompt,
  picture,
}: {
  prompt: string;
  picture: Picture | undefined;
}) {
  return (
    <div className="ml-auto max-w-[85%] rounded-xl bg-wash px-4 py-2 break-words whitespace-pre-wrap">
      {picture && <img src={picture.url} alt={picture.name} className="mb-2 max-h-40 rounded-lg" />}
      {prompt}
    </div>
  );
});

// A block that has settled is drawn once; the browser skips those that are off the screen.
const Block = memo(function Block({ text }: { text: string }) {
  return (
    <div className="break-words whitespace-pre-wrap [contain-intrinsic-size:auto_15rem] [content-visibility:auto]">
      {text}
    </div>
  );
});

export const AnswerView = memo(function AnswerView({ answer }: { answer: Answer }) {
  const running = answer.state === "waiting" || answer.state === "streaming";
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {answer.simulated && (
        <p>
          <Tag tint="warn">Answered by the simulator, not by a model.</Tag>
        </p>
      )}
      <output
        className="block min-h-6 rounded-xl border border-line bg-sunken px-4 py-3"
        aria-label="Answer"
        aria-busy={running}
      >
        {answer.passage.blocks.map((text, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: settled blocks neither move nor change
          <Block key={i} text={text} />
        ))}
        <div className="break-words whitespace-pre-wrap">
          {answer.passage.tail}
          {running && (
            <span
              aria-hidden="true"
              className="ml-0.5 inline-block h-4 w-2 animate-shimmer bg-accent align-text-bottom"
            />
          )}
        </div>
        {answer.media && <Media answer={answer.media} />}
      </output>
      {answer.failure && <Failed failure={answer.failure} />}
      <Figures answer={answer} running={running} />
    </div>
  );
});

function Figures({ answer, running }: { answer: Answer; running: boolean }) {
  const speed = rate(answer);
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted">
      {answer.firstMs !== null && <span>First token {duration(answer.firstMs)}</span>}
      {speed !== null && <span className="tabular-nums">{speed.toFixed(speed < 10 ? 1 : 0)} tokens/s</span>}
      {answer.pieces > 0 && <span className="tabular-nums">{answer.pieces} tokens</span>}
      {!running && <span>{duration(answer.tookMs)}</span>}
      {answer.state === "stopped" && <Tag tint="warn">stopped</Tag>}
      {!running && answer.pieces > 0 && (
        <span className="ml-auto">
          <CopyButton text={passageText(answer.passage)} label="Copy answer" look="quiet" />
        </span>
      )}
    </div>
  );
}

const longestSpeech = 5_000; // characters

/** Has a text spoken by the gateway. */
export function Speak({ appKey, text }: { appKey: KeyChoice; text: string }) {
  const [url, setURL] = useState("");
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  const speak = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const body = { endpoint: "synthesize", text: text.slice(0, longestSpeech) };
      const answer = (await (await callPlayground("/voice", appKey, body)).json()) as {
        audio_b64: string;
        format: string;
      };
      setURL(
        URL.createObjectURL(blobOf(answer.audio_b64, answer.format === "mp3" ? "audio/mpeg" : "audio/wav")),
      );
    } catch (thrown) {
      setFailure(asFailure(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="flex flex-col gap-2">
      {url ? (
        // biome-ignore lint/a11y/useMediaCaption: what is said stands above it
        <audio controls autoPlay src={url} aria-label="The answer, spoken" className="w-full" />
      ) : (
        <div>
          <Button look="quiet" icon="play" disabled={busy} onClick={speak}>
            {busy ? "Speaking …" : "Say it"}
          </Button>
        </div>
      )}
      {failure && <Failed failure={failure} />}
    </div>
  );
}

export function Media({ answer }: { answer: Record<string, unknown> }) {
  if ("image_b64" in answer && typeof answer.image_b64 === "string")
    return (
      <img
        src={`data:image/png;base64,${answer.image_b64}`}
        alt="What the model made"
        className="max-h-[70vh] rounded-lg"
      />
    );
  const depth = answer.depth_map_b64;
  const audio = answer.audio_b64;
  return (
    <>
      {typeof depth === "string" && (
        <img src={`data:image/png;base64,${depth}`} alt="Depth map" className="mb-3 max-h-80 rounded-lg" />
      )}
      {typeof audio === "string" && <Sound audio={audio} format={answer.format} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="max-h-96 overflow-auto font-mono text-sm">
        {JSON.stringify(
          answer,
          (_, v) => (typeof v === "string" && v.length > 400 ? `${v.slice(0, 400)} …` : v),
          2,
        )}
      </pre>
    </>
  );
}

function Sound({ audio, format }: { audio: string; format: unknown }) {
  const [url, setURL] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(blobOf(audio, format === "wav" ? "audio/wav" : "audio/mpeg"));
    setURL(made);
    return () => URL.revokeObjectURL(made);
  }, [audio, format]);
  // biome-ignore lint/a11y/useMediaCaption: what is said is what was asked for
  return <audio controls src={url || undefined} aria-label="The sound" className="mb-3 w-full" />;
}
