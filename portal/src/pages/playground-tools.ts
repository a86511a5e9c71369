/** What a tool is given by a form. Files are their content in base64, and their name. */
export interface Given {
  text: (name: string) => string;
  number: (name: string) => number;
  /** Undefined when none was chosen. */
  file: (name: string) => unknown;
}

export interface Field {
  name: string;
  label: string;
  kind: "text" | "area" | "number" | "select" | "image" | "audio";
  initial?: string;
  options?: string[];
  hint?: string;
  optional?: boolean;
}

/** An operation of the gateway that can be tried. */
export interface Tool {
  id: string;
  label: string;
  about: string;
  /** The gateway's operation, as programs call it. */
  path: (given: Given) => string;
  fields: Field[];
  body: (given: Given) => Record<string, unknown>;
  /** The playground's operation and what it needs beside the body; without one the browser calls the gateway itself. */
  playground?: { path: string; endpoint?: string };
  /** The answer is a stream of text. */
  text?: boolean;
  /** It has no counterpart at the gateway: no code is shown. */
  portalOnly?: boolean;
}

export interface Group {
  id: string;
  label: string;
  tools: Tool[];
}

const image: Field = { name: "image", label: "Image", kind: "image" };
const audio: Field = { name: "audio", label: "Recording", kind: "audio" };
const language: Field = { name: "language", label: "Language", kind: "text", initial: "en" };
const org: Field = {
  name: "org",
  label: "Gallery (org_id)",
  kind: "text",
  hint: "Any name: a gallery within your account. No other account reaches it.",
};
const modality = (options: string[]): Field => ({ name: "task", label: "Task", kind: "select", options });
const biometric = modality([
  "face",
  "iris",
  "liveness",
  "gait",
  "footprint",
  "person_reid",
  "object_signature",
]);
const spatial = modality(["face", "object_signature", "person_reid"]);

const at = (path: string) => () => path;

function biometrix(endpoint: string, label: string, about: string): Tool {
  return {
    id: endpoint,
    label,
    about,
    path: at(`/api/v1/${endpoint}`),
    fields: [biometric, image],
    body: (g) => ({
      family: "biometrix",
      task: g.text("task"),
      input_data: { image_base64: g.file("image") },
    }),
    playground: { path: "/biometrix", endpoint },
  };
}

function voice(endpoint: string, path: string, label: string, about: string): Tool {
  return {
    id: endpoint,
    label,
    about,
    path: at(path),
    fields: [audio],
    body: (g) =>
      endpoint === "voice-id"
        ? { action: "extract", audio_base64: g.file("audio") }
        : { audio_base64: g.file("audio"), format: "wav", language: "auto" },
    playground: { path: "/voice", endpoint },
  };
}

/** Pairs of numbers, one a line. */
export function points(text: string): number[][] {
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) =>
      line
        .split(/[\s,;]+/)
        .filter(Boolean)
        .map(Number),
    );
}

/** An object in JSON. What is none is reported, not sent. */
export function jsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text || "{}");
  } catch {
    throw new Error("The arguments are not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("The arguments must be a JSON object.");
  return value as Record<string, unknown>;
}

const floor = "120 400\n520 400\n600 470\n40 470";

export const groups: Group[] = [
  {
    id: "search",
    label: "Deep search",
    tools: [
      {
        id: "deep-search",
        label: "Deep search",
        about: "Searches the web and streams a report with its sources.",
        path: at("/api/v1/deep-search"),
        fields: [
          { name: "query", label: "Question", kind: "area", initial: "History of the abacus" },
          language,
          { name: "max_tokens", label: "Most tokens", kind: "number", initial: "2048" },
        ],
        body: (g) => ({
          query: g.text("query"),
          language: g.text("language"),
          max_tokens: g.number("max_tokens"),
        }),
        playground: { path: "/deep-search" },
        text: true,
      },
    ],
  },
  {
    id: "translate",
    label: "Translate",
    tools: [
      {
        id: "translate",
        label: "Translate",
        about: "Languages are codes such as sw, yo or zu; auto finds out which one was written.",
        path: at("/api/v1/translate"),
        fields: [
          { name: "text", label: "Text", kind: "area", initial: "Good morning" },
          { name: "source", label: "From", kind: "text", initial: "auto" },
          { name: "target", label: "To", kind: "text", initial: "sw" },
        ],
        body: (g) => ({ text: g.text("text"), source: g.text("source"), target: g.text("target") }),
      },
    ],
  },
  {
    id: "speech",
    label: "Speech",
    tools: [
      {
        id: "transcribe",
        label: "Speech to text",
        about: "Record or choose a file.",
        path: at("/api/v1/transcribe"),
        fields: [audio, { ...language, initial: "auto" }],
        body: (g) => ({
          audio_base64: g.file("audio"),
          language: g.text("language"),
          filename: "speech.wav",
        }),
        playground: { path: "/voice", endpoint: "transcribe" },
      },
      {
        id: "synthesize",
        label: "Text to speech",
        about: "The operator chooses the voice.",
        path: at("/api/v1/synthesize"),
        fields: [
          { name: "text", label: "Text", kind: "area", initial: "Habari yako" },
          { ...language, initial: "sw" },
        ],
        body: (g) => ({ text: g.text("text"), language: g.text("language") }),
        playground: { path: "/voice", endpoint: "synthesize" },
      },
      voice(
        "characteristics",
        "/api/v1/voice/characteristics?request=",
        "Voice characteristics",
        "Pitch, register, rate and loudness.",
      ),
      voice(
        "analyze",
        "/api/v1/voice/analyze?request=",
        "Voice analysis",
        "The same as the characteristics.",
      ),
      voice("voice-id", "/api/v1/voice-id", "Voice footprint", "A vector that stands for the speaker."),
    ],
  },
  {
    id: "biometrix",
    label: "Biometrix",
    tools: [
      biometrix("detect", "Detect", "Where faces or things are."),
      biometrix("extract", "Extract", "The vector that stands for a sample."),
      {
        id: "compare",
        label: "Compare 1:1",
        about: "Whether two samples are of the same.",
        path: at("/api/v1/compare"),
        fields: [
          biometric,
          { ...image, name: "probe", label: "Probe" },
          { ...image, name: "reference", label: "Reference" },
        ],
        body: (g) => ({
          family: "biometrix",
          task: g.text("task"),
          input_data: {
            probe: { image_base64: g.file("probe") },
            reference: { image_base64: g.file("reference") },
          },
        }),
        playground: { path: "/biometrix", endpoint: "compare" },
      },
      biometrix(
        "identify",
        "Identify 1:N",
        "Who of the enrolled it is. Look for people only with their consent.",
      ),
    ],
  },
  {
    id: "space",
    label: "Depth and space",
    tools: [
      {
        id: "depth-estimate",
        label: "Depth",
        about: "How far away things are.",
        path: at("/api/v1/depth-estimate"),
        fields: [spatial, image],
        body: (g) => ({ image_base64: g.file("image"), task: g.text("task") }),
        playground: { path: "/depth-estimate" },
      },
      {
        id: "spatial-query",
        label: "Who is near",
        about: "The enrolled within a radius of the camera.",
        path: at("/api/v1/spatial-query"),
        fields: [
          spatial,
          image,
          org,
          { name: "radius", label: "Radius in metres", kind: "number", initial: "3" },
        ],
        body: (g) => ({
          image_base64: g.file("image"),
          org_id: g.text("org"),
          radius_m: g.number("radius"),
          task: g.text("task"),
        }),
        playground: { path: "/spatial-query" },
      },
      {
        id: "multicam-calibrate",
        label: "Calibrate a camera",
        about: "Four or more points of the floor: where they are in the image, and where in the world.",
        path: at("/dev/playground/multicam-calibrate"),
        fields: [
          { name: "session", label: "Scene (session_id)", kind: "text", initial: "hall" },
          { name: "camera", label: "Camera", kind: "text", initial: "north" },
          {
            name: "src",
            label: "Points in the image, in pixels",
            kind: "area",
            initial: floor,
            hint: "x and y, one point a line",
          },
          {
            name: "dst",
            label: "The same in the world, in metres",
            kind: "area",
            initial: "0 4\n4 4\n4 0\n0 0",
          },
        ],
        body: (g) => ({
          session_id: g.text("session"),
          camera_id: g.text("camera"),
          src_points: points(g.text("src")),
          dst_points: points(g.text("dst")),
        }),
        playground: { path: "/multicam-calibrate" },
        portalOnly: true,
      },
      {
        id: "multicam-identify",
        label: "Over several cameras",
        about: "Follows people from camera to camera. Cameras of a scene must be calibrated.",
        path: at("/api/v1/multicam-identify"),
        fields: [
          modality(["face", "person_reid"]),
          org,
          {
            name: "session",
            label: "Scene (session_id)",
            kind: "text",
            initial: "",
            optional: true,
            hint: "Empty: the cameras are not placed.",
          },
          { name: "camera1", label: "First camera", kind: "text", initial: "north" },
          { ...image, name: "view1", label: "Its view" },
          { name: "camera2", label: "Second camera", kind: "text", initial: "south", optional: true },
          { ...image, name: "view2", label: "Its view (second)", optional: true },
        ],
        body: (g) => ({
          session_id: g.text("session"),
          org_id: g.text("org"),
          task: g.text("task"),
          views: [1, 2].flatMap((n) => {
            const view = g.file(`view${n}`);
            return view ? [{ camera_id: g.text(`camera${n}`), image_base64: view }] : [];
          }),
        }),
        playground: { path: "/multicam-identify" },
      },
    ],
  },
  {
    id: "skills",
    label: "Skills and tasks",
    tools: [
      {
        id: "skill",
        label: "Invoke a skill",
        about: "Its arguments are JSON. An image goes along as image_b64.",
        path: (g) => `/api/v1/skills/${encodeURIComponent(g.text("skill"))}/invoke`,
        fields: [
          { name: "skill", label: "Skill", kind: "text", initial: "create_pdf" },
          {
            name: "args",
            label: "Arguments",
            kind: "area",
            initial: '{"title": "Minutes", "sections": [{"heading": "First", "text": "We met."}]}',
          },
          { ...image, optional: true },
        ],
        body: (g) => ({
          args: { ...jsonObject(g.text("args")), ...(g.file("image") ? { image_b64: g.file("image") } : {}) },
        }),
      },
      {
        id: "predict",
        label: "Any task",
        about: "A family, a task and its input, as JSON.",
        path: at("/api/v1/predict"),
        fields: [
          { name: "family", label: "Family", kind: "select", options: ["emoticore", "darwin", "biometrix"] },
          { name: "task", label: "Task", kind: "text", initial: "text" },
          { name: "input", label: "Input", kind: "area", initial: '{"text": "What a day!"}' },
        ],
        body: (g) => ({
          family: g.text("family"),
          task: g.text("task"),
          input_data: jsonObject(g.text("input")),
        }),
        playground: { path: "", endpoint: "predict" },
      },
    ],
  },
];
