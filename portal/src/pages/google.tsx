import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { Failed } from "../ui/layout";

const script = "https://accounts.google.com/gsi/client";

/** The part of Google Identity Services that is used. */
interface Identity {
  initialize(options: {
    client_id: string;
    nonce: string;
    ux_mode: "popup";
    callback: (answer: { credential: string }) => void;
  }): void;
  renderButton(place: HTMLElement, options: { width: number; text: "continue_with" }): void;
}

declare global {
  interface Window {
    google?: { accounts: { id: Identity } };
  }
}

let loading: Promise<Identity> | undefined;

/** Loads the provider's script, the only thing the portal ever loads from elsewhere. */
function identity(): Promise<Identity> {
  loading ??= new Promise<Identity>((done, failed) => {
    const element = document.createElement("script");
    element.src = script;
    element.async = true;
    element.onload = () =>
      window.google
        ? done(window.google.accounts.id)
        : failed(new Error("Google's script is not as expected."));
    element.onerror = () => {
      loading = undefined;
      element.remove();
      failed(new Error("Google did not answer. Use your password, or load the page again."));
    };
    document.head.append(element);
  });
  return loading;
}

/** The session that came of it, or the challenge that a second factor has to answer. */
type SignedIn = Schemas["Session"] | Schemas["LoginChallenge"];

/** Sign-in with Google, where it is configured; else nothing, and nothing is loaded. */
export function GoogleButton({ onSignedIn }: { onSignedIn: (answer: SignedIn) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<unknown>();
  const { data } = useQuery({
    queryKey: ["google"],
    queryFn: () => ask(api.GET("/dev/auth/google-client-id")),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0, // the nonce is for one visit of the page
  });
  const then = useRef(onSignedIn);
  then.current = onSignedIn;

  useEffect(() => {
    const host = place.current;
    if (!data?.client_id || !data.nonce || !host) return;
    let gone = false;
    const { client_id, nonce } = data;
    const finish = async (credential: string) => {
      try {
        then.current(await ask(api.POST("/dev/auth/google", { body: { credential } })));
      } catch (thrown) {
        setProblem(thrown);
      }
    };
    identity().then(
      (google) => {
        if (gone) return;
        google.initialize({
          client_id,
          nonce,
          ux_mode: "popup",
          callback: ({ credential }) => void finish(credential),
        });
        google.renderButton(host, { width: host.clientWidth, text: "continue_with" });
      },
      (thrown: unknown) => !gone && setProblem(thrown),
    );
    return () => {
      gone = true;
    };
  }, [data]);

  if (!data?.client_id) return null;
  return (
    <div className="mt-4 flex flex-col gap-3 border-t border-line pt-4">
      {problem !== undefined && <Failed failure={asFailure(problem)} />}
      <div ref={place} className="min-h-10" />
    </div>
  );
}
