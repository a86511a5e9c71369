import { useEffect, useRef, useState } from "react";
import { Button } from "../ui/button";
import { wav } from "./wav";

const rate = 16_000; // samples a second: what speech recognition works with
const longestMs = 60_000;

/** Records from the microphone, a minute at most, and hands over a WAV file. A file can be chosen instead. */
export function Recorder({
  onAudio,
  disabled = false,
}: {
  onAudio: (audio: File) => void;
  disabled?: boolean;
}) {
  const [recorder, setRecorder] = useState<MediaRecorder>();
  const [problem, setProblem] = useState("");
  const gone = useRef(false);
  const live = useRef<MediaRecorder>(undefined);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
      if (live.current?.state === "recording") live.current.stop();
    };
  }, []);

  const start = async () => {
    setProblem("");
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const made = new MediaRecorder(stream);
      const pieces: Blob[] = [];
      made.ondataavailable = (e) => pieces.push(e.data);
      const timer = setTimeout(() => made.stop(), longestMs);
      made.onstop = async () => {
        clearTimeout(timer);
        for (const track of stream.getTracks()) track.stop();
        if (gone.current) return;
        setRecorder(undefined);
        try {
          onAudio(new File([await resample(new Blob(pieces))], "recording.wav", { type: "audio/wav" }));
        } catch {
          setProblem("Nothing was recorded.");
        }
      };
      made.start();
      live.current = made;
      setRecorder(made);
    } catch (thrown) {
      setProblem(noDevice(thrown, "microphone"));
    }
  };

  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        {recorder ? (
          <Button icon="stop" look="danger" onClick={() => recorder.stop()}>
            Stop recording
          </Button>
        ) : (
          <Button icon="mic" disabled={disabled} onClick={start}>
            Record
          </Button>
        )}
        <FileButton label="Audio file" accept="audio/*" disabled={disabled} onFile={onAudio} />
      </div>
      {problem && (
        <p role="alert" className="text-sm text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}

async function resample(recording: Blob): Promise<Blob> {
  const context = new AudioContext();
  try {
    const whole = await context.decodeAudioData(await recording.arrayBuffer());
    const offline = new OfflineAudioContext(1, Math.max(1, Math.ceil(whole.duration * rate)), rate);
    const source = offline.createBufferSource();
    source.buffer = whole;
    source.connect(offline.destination);
    source.start();
    return wav((await offline.startRendering()).getChannelData(0), rate);
  } finally {
    await context.close();
  }
}

/** Why a camera or a microphone cannot be used, and what to do. */
export function noDevice(thrown: unknown, device: string): string {
  const name = thrown instanceof DOMException ? thrown.name : "";
  if (name === "NotAllowedError")
    return `The browser does not allow the ${device}. Allow it beside the address, or choose a file.`;
  if (name === "NotFoundError") return `There is no ${device}. Choose a file.`;
  return `The ${device} cannot be used here (a page needs https or localhost for it). Choose a file.`;
}

/** A button that chooses a file. */
export function FileButton({
  label,
  accept,
  disabled = false,
  onFile,
}: {
  label: string;
  accept: string;
  disabled?: boolean;
  onFile: (file: File) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button icon="file" disabled={disabled} onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        accept={accept}
        aria-label={label}
        tabIndex={-1}
        className="sr-only"
        onChange={(e) => {
          const file = e.target.files?.[0];
          e.target.value = "";
          if (file) onFile(file);
        }}
      />
    </>
  );
}
