import type { Modelgate, Schemas } from "@modelgate/sdk";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { base64 } from "../src/media/bytes";
import { FileButton } from "../src/media/recorder";
import { snapshot, Webcam } from "../src/media/webcam";
import { Button } from "../src/ui/button";
import { Card, Tag } from "../src/ui/layout";
import { Backend, Problem, show, skill } from "./frame";

const pauseMs = 1_500; // between two looks; each is a call or two of the key's limit

interface Seen {
  boxes: { box: number[]; confidence: number }[];
  noBoxes: string; // why there are none
  match: Record<string, unknown> | undefined;
  backend: string | undefined;
  width: number;
  height: number;
}

async function look(gateway: Modelgate, task: Schemas["BiometricTask"], image: File): Promise<Seen> {
  const picture = await createImageBitmap(image);
  const sample = await base64(image);
  const [found, match] = await Promise.all([
    gateway
      .detect({ family: "biometrix", task, input_data: { image_base64: sample } }, { maxRetries: 0 })
      .catch((e: unknown) => (e instanceof Error ? e.message : String(e))),
    gateway.invokeSkill(
      "biometrix_identify",
      { action: "identify", task, image_b64: sample },
      { maxRetries: 0 },
    ),
  ]);
  return {
    boxes:
      typeof found === "string"
        ? []
        : found.detections.map((d) => ({ box: d.bbox, confidence: d.confidence })),
    noBoxes: typeof found === "string" ? found : "",
    match,
    backend: typeof match.backend === "string" ? match.backend : undefined,
    width: picture.width,
    height: picture.height,
  };
}

function Enrolment({ gateway }: { gateway: Modelgate }) {
  const video = useRef<HTMLVideoElement>(null);
  const [task, setTask] = useState<Schemas["BiometricTask"]>("face");
  const [live, setLive] = useState(false);
  const [still, setStill] = useState<File>();
  const [seen, setSeen] = useState<Seen>();
  const [enrolled, setEnrolled] = useState<string[]>();
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState("");

  const list = useCallback(async () => {
    const answer = await gateway.invokeSkill("biometrix_enroll", { action: "list_enrolled", task });
    setEnrolled(Array.isArray(answer.enrolled) ? answer.enrolled.map(String) : []);
  }, [gateway, task]);
  useEffect(() => {
    list().catch(setError);
  }, [list]);

  useEffect(() => {
    if (!live) return;
    let gone = false;
    let timer: ReturnType<typeof setTimeout>;
    const round = async () => {
      const image = await snapshot(video.current);
      try {
        if (image) {
          const found = await look(gateway, task, image);
          if (!gone) setSeen(found);
        }
        if (!gone) timer = setTimeout(round, pauseMs);
      } catch (thrown) {
        if (!gone) setError(thrown); // and no further rounds: the same would be refused again
      }
    };
    void round();
    return () => {
      gone = true;
      clearTimeout(timer);
      setSeen(undefined);
    };
  }, [live, gateway, task]);

  const enroll = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const user = String(new FormData(event.currentTarget).get("user") ?? "").trim();
    setError(undefined);
    setSaid("");
    try {
      const image = live ? await snapshot(video.current) : still;
      if (!image) throw new Error("Switch the camera on or choose a picture first.");
      const answer = await gateway.invokeSkill("biometrix_enroll", {
        action: "enroll",
        task,
        user_id: user,
        image_b64: await base64(image),
      });
      setSaid(`${user} is enrolled${answer.samples ? `, ${answer.samples} samples` : ""}.`);
      await list();
    } catch (thrown) {
      setError(thrown);
    }
  };

  const choose = async (file: File) => {
    setStill(file);
    setError(undefined);
    try {
      setSeen(await look(gateway, task, file));
    } catch (thrown) {
      setError(thrown);
    }
  };

  const remove = async (user: string) => {
    setError(undefined);
    try {
      await gateway.invokeSkill("biometrix_enroll", { action: "delete_enrolled", task, user_id: user });
      await list();
    } catch (thrown) {
      setError(thrown);
    }
  };

  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Camera">
        <div className="flex flex-col gap-3">
          <label className="flex flex-col gap-1">
            <span className="font-medium">Look for</span>
            <select
              className="field"
              value={task}
              onChange={(e) => setTask(e.target.value as Schemas["BiometricTask"])}
            >
              <option value="face">Faces</option>
              <option value="object_signature">Objects</option>
            </select>
          </label>
          <Webcam video={video} onLive={setLive}>
            {seen && <Boxes seen={seen} />}
          </Webcam>
          <FileButton label="Choose a picture" accept="image/*" onFile={(f) => void choose(f)} />
          {!live && still && <p className="text-sm break-words text-muted">Picture: {still.name}</p>}
          {seen && <Found seen={seen} />}
        </div>
      </Card>
      <div className="flex flex-col gap-4">
        <Problem error={error} />
        <Card
          title="Enrol"
          about="What is enrolled is a template of biometric data. Enrol only who agreed to it."
        >
          <form aria-label="Enrol" onSubmit={enroll} className="flex flex-col gap-3">
            <label className="flex flex-col gap-1">
              <span className="font-medium">Name</span>
              <input className="field" name="user" required maxLength={64} autoComplete="off" />
            </label>
            <label className="flex items-start gap-2">
              <input type="checkbox" required className="mt-1" /> The person agreed, or it is a thing.
            </label>
            <div>
              <Button type="submit" look="primary">
                Enrol what is seen
              </Button>
            </div>
            <p role="status" className="text-good">
              {said}
            </p>
          </form>
        </Card>
        <Card title="Enrolled">
          {enrolled?.length === 0 && <p className="text-muted">Nobody yet.</p>}
          <ul className="flex flex-col gap-2">
            {enrolled?.map((user) => (
              <li key={user} className="flex items-center justify-between gap-2">
                <span className="min-w-0 break-words">{user}</span>
                <Button look="danger" aria-label={`Delete ${user}`} onClick={() => void remove(user)}>
                  Delete
                </Button>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </div>
  );
}

function Boxes({ seen }: { seen: Seen }) {
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${seen.width} ${seen.height}`}
      className="absolute inset-0 size-full text-good"
    >
      {seen.boxes.map(({ box: [left = 0, top = 0, right = 0, bottom = 0] }, i) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: boxes have no name and are drawn anew each time
          key={i}
          x={left}
          y={top}
          width={Math.max(0, right - left)}
          height={Math.max(0, bottom - top)}
          fill="none"
          stroke="currentColor"
          strokeWidth="3"
        />
      ))}
    </svg>
  );
}

function Found({ seen }: { seen: Seen }) {
  const known = seen.match?.status === "match";
  return (
    <div role="status" className="flex flex-col gap-1">
      <p>
        <Tag tint={known ? "good" : "plain"}>{known ? String(seen.match?.user_id) : "nobody known"}</Tag>{" "}
        {typeof seen.match?.score === "number" && (
          <span className="text-muted tabular-nums">similarity {seen.match.score.toFixed(2)}</span>
        )}
      </p>
      <p className="text-sm text-muted">
        {seen.noBoxes ? `No boxes are drawn: ${seen.noBoxes}` : `${seen.boxes.length} detected`}
      </p>
      <Backend name={seen.backend} />
    </div>
  );
}

show({
  title: "Live enrolment",
  about:
    "Enrol faces or objects from the camera and recognize them live. Pictures go to the gateway while the camera is on.",
  needs: [skill("biometrix_enroll"), skill("biometrix_identify")],
  children: (gateway) => <Enrolment gateway={gateway} />,
});
