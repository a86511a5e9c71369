import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button";
import { noDevice } from "./recorder";

/** The picture that a camera shows now, as a JPEG file no wider than 640 pixels; undefined before the first one. */
export async function snapshot(video: HTMLVideoElement | null): Promise<File | undefined> {
  if (!video?.videoWidth) return undefined;
  const canvas = document.createElement("canvas");
  const scale = Math.min(1, 640 / video.videoWidth);
  canvas.width = Math.round(video.videoWidth * scale);
  canvas.height = Math.round(video.videoHeight * scale);
  canvas.getContext("2d")?.drawImage(video, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", 0.85));
  return blob ? new File([blob], "camera.jpg", { type: "image/jpeg" }) : undefined;
}

/** Shows what the camera sees, from a click until it is switched off. Nothing leaves the page by itself. */
export function Webcam({
  video,
  onLive,
  children,
}: {
  video: RefObject<HTMLVideoElement | null>;
  onLive?: (live: boolean) => void;
  children?: ReactNode; // drawn over the picture
}) {
  const [stream, setStream] = useState<MediaStream>();
  const [problem, setProblem] = useState("");
  const held = useRef<MediaStream>(undefined);
  const off = useCallback(() => {
    for (const track of held.current?.getTracks() ?? []) track.stop();
    held.current = undefined;
  }, []);
  useEffect(() => off, [off]);
  useEffect(() => {
    if (video.current && stream) video.current.srcObject = stream;
  }, [stream, video]);
  const toggle = async () => {
    setProblem("");
    if (stream) {
      off();
      setStream(undefined);
      onLive?.(false);
      return;
    }
    try {
      held.current = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480 } });
      setStream(held.current);
      onLive?.(true);
    } catch (thrown) {
      setProblem(noDevice(thrown, "camera"));
    }
  };
  return (
    <div className="flex flex-col gap-2">
      {stream && (
        <div className="relative overflow-hidden rounded-lg border border-line bg-sunken">
          <video
            ref={video}
            autoPlay
            muted
            playsInline
            aria-label="What the camera sees"
            className="block w-full"
          />
          {children}
        </div>
      )}
      <div>
        <Button icon={stream ? "stop" : "camera"} onClick={toggle}>
          {stream ? "Camera off" : "Camera on"}
        </Button>
      </div>
      {problem && (
        <p role="alert" className="text-sm text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
