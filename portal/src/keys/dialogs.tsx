import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { gatewayURL, keyValue } from "../api/gateway";
import { Moment } from "../format/time";
import { SnippetTabs } from "../snippet/tabs";
import { Button, buttonClass } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Failed, Notice, Skeleton } from "../ui/layout";
import { Secret } from "../ui/secret";
import type { Key } from "./card";
import { defaultGrace, graces } from "./grace";

const firstCall = { prompt: "Say hello in three languages.", stream: true };

/** A value that was just made, ready to be used. */
export function Fresh({
  fresh,
  rotated,
  onClose,
}: {
  fresh: Schemas["NewKey"];
  rotated: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title={rotated ? "The new value of the key" : "Your new key"} onClose={onClose} wide>
      <div className="flex flex-col gap-4">
        <p className="text-muted">Keep it where your secrets are. Lists never show it again.</p>
        {rotated && (
          <Notice tint={fresh.previous_expires_at ? "warn" : "plain"}>
            {fresh.previous_expires_at ? (
              <>
                The value before works until <Moment at={fresh.previous_expires_at} />.
              </>
            ) : (
              "The value before is refused from now on."
            )}
          </Notice>
        )}
        <Secret value={fresh.key} />
        <SnippetTabs sample={{ gateway: gatewayURL(), body: firstCall, apiKey: fresh.key }} />
        <div className="flex flex-wrap justify-end gap-2">
          <Link to="/playground" search={{ app: fresh.app_id, key: fresh.key_id }} className={buttonClass()}>
            Try it in the playground
          </Link>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

export function Reveal({ appID, apiKey, onClose }: { appID: string; apiKey: Key; onClose: () => void }) {
  const value = useQuery({
    queryKey: ["key value", apiKey.key_id],
    queryFn: () => keyValue(appID, apiKey.key_id),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Dialog title={apiKey.hint} onClose={onClose} wide>
      <p className="mb-3 text-muted">Only you can read it, and that you did is recorded.</p>
      {value.isError ? (
        <Failed failure={asFailure(value.error)} onRetry={() => void value.refetch()} />
      ) : value.data ? (
        <Secret value={value.data} />
      ) : (
        <Skeleton lines={2} />
      )}
    </Dialog>
  );
}

interface RotateProps {
  apiKey: Key;
  busy: boolean;
  problem: string | undefined;
  onRotate: (graceSeconds: number) => void;
  onClose: () => void;
}

/** Asks how long the value before shall go on working. */
export function Rotate({ apiKey, busy, problem, onRotate, onClose }: RotateProps) {
  const [grace, setGrace] = useState<number>(defaultGrace);
  return (
    <Dialog title={`Rotate ${apiKey.hint}`} onClose={onClose}>
      <p className="mb-3 text-muted">The key gets a new value at once and keeps its id, usage and limits.</p>
      <fieldset>
        <legend className="mb-2 font-medium">How long does the old value go on working?</legend>
        <div className="flex flex-col gap-2">
          {graces.map((g) => (
            <label
              key={g.seconds}
              className="flex items-start gap-3 rounded-lg border border-edge px-3 py-2 has-checked:border-accent has-checked:bg-wash"
            >
              <input
                type="radio"
                name="grace"
                className="mt-1.5 accent-button"
                checked={grace === g.seconds}
                onChange={() => setGrace(g.seconds)}
              />
              <span>
                <span className="font-medium">{g.label}</span>
                <span className="block text-sm text-muted">{g.about}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      {problem && (
        <p role="alert" className="mt-3 text-bad">
          {problem}
        </p>
      )}
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look={grace === 0 ? "danger" : "primary"} disabled={busy} onClick={() => onRotate(grace)}>
          Rotate
        </Button>
      </div>
    </Dialog>
  );
}
