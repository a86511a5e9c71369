import { Modelgate, ModelgateError } from "@modelgate/sdk";
import { type ReactNode, StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Button } from "../src/ui/button";
import { Card, Notice, Tag } from "../src/ui/layout";
import { applyTheme } from "../src/ui/theme";
import "../src/ui/style.css";

/** What a demo asks the gateway for, and whether it can have it. */
export interface Need {
  what: string;
  /** Undefined while it is available; otherwise why it is not. */
  missing: (gateway: Modelgate) => Promise<string | undefined>;
}

// The portal opens a demo with the session's token in its address (?t=), which is taken out at once. It stays in this page's
// memory and gets short-lived tokens that stand for the key that was chosen there (?app_id= and ?key_id=), or the oldest.
const address = new URL(location.href);
const session = address.searchParams.get("t") ?? "";
const chosen = new URLSearchParams(
  ["app_id", "key_id"].flatMap((name) => {
    const value = address.searchParams.get(name);
    return value ? [[name, value]] : [];
  }),
);
if (address.searchParams.has("t")) {
  address.searchParams.delete("t");
  history.replaceState(null, "", address);
}

async function gatewayURL(): Promise<string> {
  const meta = document.querySelector<HTMLMetaElement>("meta[name=modelgate-gateway]")?.content ?? "";
  return meta.startsWith("http") ? meta : location.origin;
}

let token = { value: "", until: 0 };

async function streamToken(renew: boolean): Promise<string> {
  if (!renew && Date.now() < token.until) return token.value;
  const response = await fetch(`/dev/config/stream-key?${chosen}`, {
    headers: { Authorization: `Bearer ${session}` },
  }).catch(() => {
    throw new ModelgateError("The portal did not answer. Check the connection and try again.", { status: 0 });
  });
  const body = (await response.json().catch(() => ({}))) as {
    token?: string;
    expires_in?: number;
    detail?: string;
  };
  if (!response.ok || !body.token)
    throw new ModelgateError(body.detail ?? "The portal gave no token for the gateway.", {
      status: response.status,
    });
  token = { value: body.token, until: Date.now() + (body.expires_in ?? 60) * 800 };
  return token.value;
}

function Demo({ title, about, needs, children }: Props) {
  const [gateway, setGateway] = useState<Modelgate>();
  const use = async (apiKey: string | ((renew: boolean) => Promise<string>)) =>
    setGateway(new Modelgate({ baseURL: await gatewayURL(), apiKey }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    if (session) void use(streamToken);
  }, []);
  return (
    <div className="mx-auto flex min-h-dvh max-w-5xl flex-col gap-4 p-4 sm:p-6">
      <header>
        <p className="text-sm text-muted">
          <a className="text-accent underline" href="/dev/" target="_top">
            Modelgate
          </a>{" "}
          demo
        </p>
        <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        <p className="mt-1 max-w-2xl text-muted">{about}</p>
      </header>
      <main className="flex flex-col gap-4">
        {gateway ? (
          <>
            <Needs needs={needs} gateway={gateway} />
            {children(gateway)}
          </>
        ) : (
          !session && <KeyForm onKey={(key) => void use(key)} />
        )}
      </main>
      <footer className="mt-auto pt-4 text-sm text-muted">
        This page calls the gateway through the{" "}
        <a className="text-accent underline" href="/dev/sdk/modelgate.js">
          JavaScript SDK
        </a>
        . Its calls are counted and limited like all calls of your key.
      </footer>
    </div>
  );
}

function KeyForm({ onKey }: { onKey: (key: string) => void }) {
  return (
    <Card title="An API key is needed">
      <form
        aria-label="API key"
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          const key = String(new FormData(event.currentTarget).get("key") ?? "").trim();
          if (key) onKey(key);
        }}
      >
        <label className="flex min-w-60 flex-1 flex-col gap-1">
          <span className="font-medium">Key</span>
          <input
            className="field"
            type="password"
            name="key"
            required
            autoComplete="off"
            placeholder="svc_test_…"
          />
        </label>
        <Button type="submit" look="primary">
          Use it
        </Button>
      </form>
      <p className="mt-2 text-sm text-muted">
        It stays in this page's memory and goes to the gateway only. Signed in to the portal, open the demo
        there instead: it needs no key typed in.
      </p>
    </Card>
  );
}

// What is not configured is said before it is missed.
function Needs({ needs, gateway }: { needs: Need[]; gateway: Modelgate }) {
  const [missing, setMissing] = useState<string[]>([]);
  useEffect(() => {
    let gone = false;
    void Promise.all(
      needs.map(async (n) => {
        const why = await n
          .missing(gateway)
          .catch((e: unknown) => (e instanceof Error ? e.message : String(e)));
        return why === undefined ? [] : [`${n.what}: ${why}`];
      }),
    ).then((found) => !gone && setMissing(found.flat()));
    return () => {
      gone = true;
    };
  }, [needs, gateway]);
  if (missing.length === 0) return null;
  return (
    <Notice tint="warn">
      <p className="font-medium">Not everything that this demo shows is available:</p>
      <ul className="list-disc pl-5">
        {missing.map((m) => (
          <li key={m}>{m}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** Needs that several demos have. */
export const chat: Need = {
  what: "Chat",
  missing: async (gateway) => {
    const { models } = await gateway.models();
    const darwin = models.find((m) => m.id === "Darwin");
    if (!darwin) return "the key may not use Darwin.";
    return darwin.available ? undefined : (darwin.detail ?? "Darwin is not available.");
  },
};

export function skill(name: string): Need {
  return {
    what: `Skill ${name}`,
    missing: async (gateway) => {
      const found = (await gateway.skills()).skills.find((s) => s.name === name);
      if (!found) return "it is not enabled, or the key may not use it.";
      return found.available ? undefined : (found.detail ?? "it is not available.");
    },
  };
}

/** Says that an answer is a simulator's. */
export function Backend({ name }: { name: string | null | undefined }) {
  return name === "simulator" ? <Tag tint="warn">Answered by the simulator, not by a model.</Tag> : null;
}

/** What went wrong, in the API's words. */
export function Problem({ error }: { error: unknown }) {
  if (!error) return null;
  const text = error instanceof Error ? error.message : String(error);
  const id = error instanceof ModelgateError ? error.requestID : null;
  return (
    <Notice tint="bad">
      {text}
      {id && <span className="block text-sm">Request {id}</span>}
    </Notice>
  );
}

interface Props {
  title: string;
  about: string;
  needs: Need[];
  children: (gateway: Modelgate) => ReactNode;
}

/** Puts a demo on its page. */
export function show(props: Props): void {
  applyTheme();
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no place to show itself");
  createRoot(root).render(
    <StrictMode>
      <Demo {...props} />
    </StrictMode>,
  );
}
