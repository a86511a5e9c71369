import type { components } from "../../src/api/contract.gen.js";
import type { EventStream } from "./events.js";
import { type Call, type CallOptions, type Options, Transport } from "./transport.js";

export { EventStream } from "./events.js";
export { ModelgateError, type Violation } from "./failure.js";
export type { CallOptions, Credential, Options } from "./transport.js";

/** The bodies of the contract, by their names in the OpenAPI document. */
export type Schemas = components["schemas"];

/** What an agent answers; `type` says which. */
export type AgentAnswer = Schemas["AgentResponse"];

/** An event of an agent stream: a piece of text, or the whole answer when it is no text. Failures are thrown. */
export type AgentEvent = Schemas["DeltaEvent"] | Exclude<AgentAnswer, { type: "text" }>;

/** An event of a streamed task: a piece of text, a segment of a transcript, or a result. Failures are thrown. */
export type TaskEvent = Schemas["DeltaEvent"] | { type?: string; [member: string]: unknown };

type Unstreamed<T> = Omit<T, "stream">;
type Voice = Schemas["VoiceRequest"] | { audio: Blob; format?: string; language?: string };

const safe = true; // a repetition does nothing that the call alone would not have done
const once = false; // a repetition could do something twice

/**
 * A client of the gateway. All methods answer with what the contract says, or throw a ModelgateError with the API's `detail`.
 * Safe to share; streams are read once each.
 */
export class Modelgate {
  private readonly transport: Transport;

  constructor(options: Options) {
    this.transport = new Transport(options);
  }

  // ---------------------------------------------------------------- agent and models

  /** Asks a model; `type` of the answer says what came back. */
  agent(body: Unstreamed<Schemas["AgentRequest"]>, options?: CallOptions): Promise<AgentAnswer> {
    return this.post("/api/v1/agent", body, options);
  }

  /** Asks a model and reads its answer as it grows. */
  agentStream(
    body: Unstreamed<Schemas["AgentRequest"]>,
    options?: CallOptions,
  ): Promise<EventStream<AgentEvent>> {
    return this.events("/api/v1/agent", { ...body, stream: true }, options);
  }

  /** What would happen to a call of the agent, which is not made and costs nothing. */
  dryRun(body: Schemas["AgentRequest"], options: CallOptions = {}): Promise<Schemas["DryRun"]> {
    return this.post("/api/v1/agent", body, {
      ...options,
      headers: { ...options.headers, "X-Dry-Run": "1" },
    });
  }

  generate(
    body: Schemas["GenerateRequest"],
    options?: CallOptions,
  ): Promise<AgentAnswer | Schemas["TaskResult"]> {
    return this.post("/api/v1/generate", body, options);
  }

  generateStream(body: Schemas["GenerateRequest"], options?: CallOptions): Promise<EventStream<TaskEvent>> {
    return this.events("/api/v1/stream", body, options);
  }

  /** A chat completion in OpenAI's words. */
  chat(
    body: Unstreamed<Schemas["ChatCompletionRequest"]>,
    options?: CallOptions,
  ): Promise<Schemas["ChatCompletion"]> {
    return this.post("/v1/chat/completions", body, options);
  }

  chatStream(
    body: Unstreamed<Schemas["ChatCompletionRequest"]>,
    options?: CallOptions,
  ): Promise<EventStream<Schemas["ChatCompletionChunk"]>> {
    return this.events("/v1/chat/completions", { ...body, stream: true }, options);
  }

  /** Runs any task of any family. */
  predict<T = Record<string, unknown>>(body: Schemas["PredictRequest"], options?: CallOptions): Promise<T> {
    return this.transport.json({ method: "POST", path: "/api/v1/predict", body, repeatable: once, options });
  }

  /** Every model, and how it is served now. */
  catalog(options?: CallOptions): Promise<Schemas["ModelCatalog"]> {
    return this.get("/api/v1", options);
  }

  /** The models that the key may use. */
  models(options?: CallOptions): Promise<Schemas["Models"]> {
    return this.get("/api/v1/models", options);
  }

  /** Needs no key. */
  health(options?: CallOptions): Promise<Schemas["Health"]> {
    return this.get("/api/v1/health", options);
  }

  // ---------------------------------------------------------------- skills and jobs

  skills(options?: CallOptions): Promise<Schemas["SkillList"]> {
    return this.get("/api/v1/skills", options);
  }

  invokeSkill<T = Record<string, unknown>>(
    name: string,
    args: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<T> {
    const path = `/api/v1/skills/${encodeURIComponent(name)}/invoke`;
    return this.transport.json({ method: "POST", path, body: { args }, repeatable: once, options });
  }

  /** Follows a job that an answer named, to its end. A job that failed throws. */
  followJob(jobID: string, options?: CallOptions): Promise<EventStream<Schemas["JobEvent"]>> {
    const call: Call = { method: "GET", path: jobPath(jobID), repeatable: safe, options };
    return this.transport.stream(call, (payload) => JSON.parse(payload) as Schemas["JobEvent"]);
  }

  // ---------------------------------------------------------------- search and translation

  /** Researches a question; the pieces put together are the report, with its sources at the end. */
  deepSearch(body: Schemas["DeepSearchRequest"], options?: CallOptions): Promise<EventStream<string>> {
    const call: Call = { method: "POST", path: "/api/v1/deep-search", body, repeatable: safe, options };
    return this.transport.stream(call, (payload) => payload);
  }

  translate(body: Schemas["TranslateRequest"], options?: CallOptions): Promise<Schemas["Translation"]> {
    return this.post("/api/v1/translate", body, options);
  }

  translateLanguages(options?: CallOptions): Promise<Schemas["LanguageList"]> {
    return this.get("/api/v1/translate/languages", options);
  }

  // ---------------------------------------------------------------- speech

  sttStatus(options?: CallOptions): Promise<Schemas["SttStatus"]> {
    return this.get("/api/v1/stt-status", options);
  }

  /** Speech to text. A Blob is sent as it is, which a node takes while it arrives; it may have 100 MiB. */
  transcribe(
    body: Schemas["TranscribeRequest"] | { audio: Blob; language?: string; filename?: string },
    options?: CallOptions,
  ): Promise<Schemas["Transcript"]> {
    return this.post("/api/v1/transcribe", "audio" in body ? form(body) : body, options);
  }

  synthesize(body: Schemas["SynthesizeRequest"], options?: CallOptions): Promise<Schemas["Speech"]> {
    return this.post("/api/v1/synthesize", body, options);
  }

  voiceCharacteristics(body: Voice, options?: CallOptions): Promise<Schemas["VoiceCharacteristics"]> {
    return this.post("/api/v1/voice/characteristics?request=", "audio" in body ? form(body) : body, options);
  }

  voiceAnalyze(body: Voice, options?: CallOptions): Promise<Schemas["VoiceCharacteristics"]> {
    return this.post("/api/v1/voice/analyze?request=", "audio" in body ? form(body) : body, options);
  }

  voiceID(body: Schemas["VoiceIDRequest"], options?: CallOptions): Promise<Schemas["VoiceFootprint"]> {
    return this.transport.json({ method: "POST", path: "/api/v1/voice-id", body, repeatable: once, options });
  }

  // ---------------------------------------------------------------- vision and biometrics

  depthEstimate(body: Schemas["DepthRequest"], options?: CallOptions): Promise<Schemas["DepthResult"]> {
    return this.post("/api/v1/depth-estimate", body, options);
  }

  spatialQuery(body: Schemas["SpatialRequest"], options?: CallOptions): Promise<Schemas["SpatialResult"]> {
    return this.post("/api/v1/spatial-query", body, options);
  }

  multicamIdentify(
    body: Schemas["MulticamRequest"],
    options?: CallOptions,
  ): Promise<Schemas["MulticamResult"]> {
    return this.post("/api/v1/multicam-identify", body, options);
  }

  trackingAnalyze(
    body: Schemas["TrackingRequest"],
    options?: CallOptions,
  ): Promise<Schemas["TrackingResult"]> {
    return this.post("/api/v1/tracking/analyze?request=", body, options);
  }

  detect(body: Schemas["ImageTaskRequest"], options?: CallOptions): Promise<Schemas["DetectResult"]> {
    return this.post("/api/v1/detect", body, options);
  }

  extract(body: Schemas["ImageTaskRequest"], options?: CallOptions): Promise<Schemas["ExtractResult"]> {
    return this.post("/api/v1/extract", body, options);
  }

  compare(body: Schemas["CompareRequest"], options?: CallOptions): Promise<Schemas["CompareResult"]> {
    return this.post("/api/v1/compare", body, options);
  }

  identify(body: Schemas["ImageTaskRequest"], options?: CallOptions): Promise<Schemas["IdentifyResult"]> {
    return this.post("/api/v1/identify", body, options);
  }

  /** Enrolls a subject, only with the person's consent: templates are personal data. */
  enroll(body: Schemas["EnrollRequest"], options?: CallOptions): Promise<Schemas["EnrollResult"]> {
    return this.transport.json({ method: "POST", path: "/api/v1/enroll", body, repeatable: once, options });
  }

  deleteEnrollment(
    body: Schemas["DeleteEnrollmentRequest"],
    options?: CallOptions,
  ): Promise<Schemas["DeleteEnrollmentResult"]> {
    return this.post("/api/v1/delete_enrollment", body, options);
  }

  match(body: Schemas["MatchRequest"], options?: CallOptions): Promise<Schemas["MatchResult"]> {
    return this.post("/api/v1/match", body, options);
  }

  // ---------------------------------------------------------------- how

  private get<T>(path: string, options: CallOptions | undefined): Promise<T> {
    return this.transport.json({ method: "GET", path, repeatable: safe, options });
  }

  private post<T>(path: string, body: unknown, options: CallOptions | undefined): Promise<T> {
    return this.transport.json({ method: "POST", path, body, repeatable: safe, options });
  }

  private events<T>(path: string, body: unknown, options: CallOptions | undefined): Promise<EventStream<T>> {
    const call: Call = { method: "POST", path, body, repeatable: safe, options };
    return this.transport.stream(call, (payload) => JSON.parse(payload) as T);
  }
}

// The path is the contract's, so that an answer cannot send a key anywhere else.
const jobPath = (jobID: string): string => `/api/v1/firmware/jobs/${encodeURIComponent(jobID)}`;

function form(body: { audio: Blob; filename?: string } & Record<string, unknown>): FormData {
  const { audio, filename, ...fields } = body;
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) data.set(name, String(value));
  data.set("audio", audio, filename ?? "audio");
  return data;
}

/** The text of a stream, when all of it has come. */
export async function textOf(
  stream: EventStream<string> | EventStream<AgentEvent> | EventStream<TaskEvent>,
): Promise<string> {
  let text = "";
  for await (const event of stream as AsyncIterable<string | { type?: string; text?: unknown }>) {
    if (typeof event === "string") text += event;
    else if (event.type === "delta") text += String(event.text);
  }
  return text;
}
