import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { asFailure, type Failure } from "../api/failure";
import { callGateway, callPlayground, credential, gatewayURL } from "../api/gateway";
import { duration } from "../format/number";
import { base64 } from "../media/bytes";
import { FileButton, Recorder } from "../media/recorder";
import { snapshot, Webcam } from "../media/webcam";
import { FileRef } from "../snippet/snippet";
import { SnippetTabs } from "../snippet/tabs";
import { type Answer, streamAnswer } from "../stream/answer";
import { Button } from "../ui/button";
import { Card, Empty, Failed, Tag } from "../ui/layout";
import { choiceOf, type UsableKey } from "./key-picker";
import { AnswerView, Media } from "./playground-answer";
import type { Field, Given, Group, Tool } from "./playground-tools";

interface Result {
  answer: Record<string, unknown>;
  tookMs: number;
  simulated: boolean;
}

/** The operations of one kind, one at a time. */
export function ToolGroup({ group, chosen }: { group: Group; chosen: UsableKey | undefined }) {
  const [id, setID] = useState(group.tools[0]?.id);
  const tool = group.tools.find((t) => t.id === id);
  if (!tool) return null;
  return (
    <div className="flex flex-col gap-4">
      {group.tools.length > 1 && (
        <label className="flex max-w-md flex-col gap-1">
          <span className="font-medium">Operation</span>
          <select className="field" value={id} onChange={(e) => setID(e.target.value)}>
            {group.tools.map((t) => (
              <option key={t.id} value={t.id}>
                {t.label}
              </option>
            ))}
          </select>
        </label>
      )}
      {chosen || tool.playground ? (
        <Bench key={tool.id} tool={tool} chosen={chosen} />
      ) : (
        <Empty icon="token" title="Choose a key">
          This call goes from your browser to the gateway, with the value of a key.
        </Empty>
      )}
    </div>
  );
}

function given(texts: Record<string, string>, file: (name: string) => unknown): Given {
  return { text: (n) => texts[n] ?? "", number: (n) => Number(texts[n]), file };
}

function initial(tool: Tool): Record<string, string> {
  return Object.fromEntries(tool.fields.map((f) => [f.name, f.initial ?? f.options?.[0] ?? ""]));
}

function Bench({ tool, chosen }: { tool: Tool; chosen: UsableKey | undefined }) {
  const [texts, setTexts] = useState(() => initial(tool));
  const [files, setFiles] = useState<Record<string, File>>({});
  const [result, setResult] = useState<Result>();
  const [stream, setStream] = useState<Answer>();
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const [code, setCode] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const missing = tool.fields.find(
    (f) => (f.kind === "image" || f.kind === "audio") && !f.optional && !files[f.name],
  );

  const call = async (signal: AbortSignal): Promise<Response> => {
    const contents: Record<string, string> = {};
    for (const [name, file] of Object.entries(files)) contents[name] = await base64(file);
    const values = given(texts, (n) => contents[n]);
    const body = tool.body(values);
    if (tool.playground) {
      const { path, endpoint } = tool.playground;
      return callPlayground(path, choiceOf(chosen), endpoint ? { ...body, endpoint } : body, signal);
    }
    if (!chosen) throw new Error("a call from the browser without a key");
    const value = await credential(chosen.app.app_id, chosen.key.key_id);
    return callGateway(value, tool.path(values), { method: "POST", body: JSON.stringify(body), signal });
  };

  const run = async (event: FormEvent) => {
    event.preventDefault();
    const controller = new AbortController();
    running.current = controller;
    setBusy(true);
    setFailure(undefined);
    setResult(undefined);
    setStream(undefined);
    try {
      if (tool.text) await streamAnswer(() => call(controller.signal), controller.signal, setStream, true);
      else {
        const begun = performance.now();
        const response = await call(controller.signal);
        const answer = (await response.json()) as Record<string, unknown>;
        const simulated = response.headers.get("X-Modelgate-Backend") === "simulator";
        setResult({ answer, tookMs: performance.now() - begun, simulated });
      }
    } catch (thrown) {
      if (!controller.signal.aborted) setFailure(asFailure(thrown));
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title={tool.label} about={tool.about}>
        <form aria-label={tool.label} onSubmit={run} className="flex flex-col gap-4">
          {tool.fields.map((f) => (
            <Input
              key={f.name}
              field={f}
              value={texts[f.name] ?? ""}
              file={files[f.name]}
              onText={(v) => setTexts({ ...texts, [f.name]: v })}
              onFile={(v) => setFiles({ ...files, [f.name]: v })}
            />
          ))}
          <div className="flex flex-wrap items-center gap-2">
            {busy ? (
              <Button icon="stop" onClick={() => running.current?.abort()}>
                Stop
              </Button>
            ) : (
              <Button type="submit" look="primary" icon="send" disabled={missing !== undefined}>
                Run
              </Button>
            )}
            {!tool.portalOnly && (
              <Button icon="code" aria-expanded={code} onClick={() => setCode(!code)}>
                Code
              </Button>
            )}
            {missing && <span className="text-sm text-muted">{missing.label} is missing.</span>}
          </div>
          {code && <ToolCode tool={tool} texts={texts} files={files} />}
        </form>
      </Card>
      <Card title="Answer">
        {failure && <Failed failure={failure} />}
        {stream && <AnswerView answer={stream} />}
        {result && (
          <div className="flex flex-col gap-2">
            {result.simulated && (
              <p>
                <Tag tint="warn">Answered by the simulator, not by a model.</Tag>
              </p>
            )}
            <output aria-label="Answer" className="block rounded-xl border border-line bg-sunken px-4 py-3">
              {typeof result.answer.translated_text === "string" && (
                <p className="mb-2 text-lg break-words">{result.answer.translated_text}</p>
              )}
              <Media answer={result.answer} />
            </output>
            <p className="text-sm text-muted">{duration(result.tookMs)}</p>
          </div>
        )}
        {!failure && !stream && !result && (
          <p className="text-muted">{busy ? "Waiting …" : "Nothing was asked yet."}</p>
        )}
      </Card>
    </div>
  );
}

function ToolCode({
  tool,
  texts,
  files,
}: {
  tool: Tool;
  texts: Record<string, string>;
  files: Record<string, File>;
}) {
  const values = given(texts, (n) => {
    const field = tool.fields.find((f) => f.name === n);
    if (!files[n] && field?.optional) return undefined;
    return new FileRef(files[n]?.name ?? (field?.kind === "audio" ? "speech.wav" : "image.jpg"));
  });
  try {
    const sample = {
      gateway: gatewayURL(),
      path: tool.path(values),
      body: tool.body(values),
      textEvents: tool.text,
    };
    return <SnippetTabs sample={sample} />;
  } catch (thrown) {
    return <Failed failure={asFailure(thrown)} />;
  }
}

function Input({
  field,
  value,
  file,
  onText,
  onFile,
}: {
  field: Field;
  value: string;
  file: File | undefined;
  onText: (value: string) => void;
  onFile: (file: File) => void;
}) {
  const id = useId();
  if (field.kind === "image" || field.kind === "audio")
    return (
      <fieldset className="flex min-w-0 flex-col gap-2">
        <legend className="mb-1 font-medium">
          {field.label}
          {field.optional && <span className="font-normal text-muted"> (optional)</span>}
        </legend>
        {field.kind === "audio" ? (
          <Recorder onAudio={onFile} />
        ) : (
          <ImageInput label={`${field.label}: file`} onFile={onFile} />
        )}
        {file && <Preview file={file} />}
      </fieldset>
    );
  const common = {
    id,
    className: "field",
    value,
    required: !field.optional,
    "aria-describedby": field.hint ? `${id}-hint` : undefined,
  };
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {field.label}
      </label>
      {field.kind === "select" ? (
        <select {...common} onChange={(e) => onText(e.target.value)}>
          {field.options?.map((o) => (
            <option key={o}>{o}</option>
          ))}
        </select>
      ) : field.kind === "area" ? (
        <textarea {...common} rows={4} onChange={(e) => onText(e.target.value)} />
      ) : (
        <input {...common} type={field.kind} step="any" onChange={(e) => onText(e.target.value)} />
      )}
      {field.hint && (
        <p id={`${id}-hint`} className="text-sm text-muted">
          {field.hint}
        </p>
      )}
    </div>
  );
}

function ImageInput({ label, onFile }: { label: string; onFile: (file: File) => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [live, setLive] = useState(false);
  const take = async () => {
    const picture = await snapshot(video.current);
    if (picture) onFile(picture);
  };
  return (
    <>
      <div>
        <FileButton label={label} accept="image/*" onFile={onFile} />
      </div>
      <Webcam video={video} onLive={setLive} />
      {live && (
        <div>
          <Button icon="image" onClick={() => void take()}>
            Take a picture
          </Button>
        </div>
      )}
    </>
  );
}

function Preview({ file }: { file: File }) {
  const [url, setURL] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setURL(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return (
    <div className="flex min-w-0 items-center gap-3">
      {url && file.type.startsWith("image/") && (
        <img src={url} alt="" className="size-16 rounded-lg border border-line object-cover" />
      )}
      <span className="min-w-0 truncate text-muted">{file.name}</span>
    </div>
  );
}
