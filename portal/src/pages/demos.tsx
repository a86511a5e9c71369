import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { demos } from "../api/queries";
import { freshToken } from "../session/session";
import { buttonClass } from "../ui/button";
import { Empty, Failed, Notice, PageHead, Skeleton, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { chosenKey, KeyPicker, useUsableKeys } from "./key-picker";

/** The demos, with what the developer's plan opens. */
export function Demos() {
  const query = useQuery(demos);
  return (
    <>
      <PageHead
        title="Demos"
        about="Small programs on our own API, through the JavaScript SDK. They call with your key, and every call counts."
      >
        <a className={buttonClass()} href="/dev/sdk/modelgate.js">
          The SDK
        </a>
      </PageHead>
      <Loaded query={query} lines={6}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="spark" title="No demos here">
              This control plane was built without its demo pages.
            </Empty>
          ) : (
            <ul className="grid gap-4 sm:grid-cols-2">
              {list.map((d) => (
                <li key={d.demo_id} className="card flex flex-col gap-3 p-5">
                  <div className="flex flex-wrap items-center justify-between gap-2">
                    <h2 className="text-base font-semibold">{d.name}</h2>
                    <Tag tint={d.allowed ? "good" : "warn"}>
                      {d.allowed ? "open to you" : `from plan ${d.plan}`}
                    </Tag>
                  </div>
                  <p className="text-muted">{d.description}</p>
                  <div className="mt-auto flex flex-wrap items-center justify-between gap-2">
                    <span className="text-sm text-muted">
                      Needs <span className="capitalize">{d.families.join(", ")}</span>
                    </span>
                    {d.allowed ? (
                      <Link
                        to="/demos/$demoId"
                        params={{ demoId: d.demo_id }}
                        className={buttonClass("primary")}
                      >
                        Open<span className="sr-only"> {d.name}</span>
                      </Link>
                    ) : (
                      <span className="text-sm">Change your plan to open it.</span>
                    )}
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  );
}

/** A demo in a frame of its own. It gets the session's token in its address, as the contract has it, and takes it out at once. */
export function DemoPage() {
  const { demoId } = useParams({ from: "/console/demos/$demoId" });
  const query = useQuery(demos);
  const [token, setToken] = useState<string>();
  useEffect(() => {
    let gone = false;
    void freshToken().then((t) => !gone && setToken(t));
    return () => {
      gone = true;
    };
  }, []);
  return (
    <Loaded query={query} lines={6}>
      {(list) => {
        const demo = list.find((d) => d.demo_id === demoId);
        return (
          <>
            <PageHead title={demo?.name ?? "Demo"}>
              <Link to="/demos" className={buttonClass()}>
                All demos
              </Link>
            </PageHead>
            {!demo ? (
              <Notice tint="bad">There is no such demo.</Notice>
            ) : !demo.allowed ? (
              <Notice tint="warn">This demo needs the plan {demo.plan}. Change your plan to open it.</Notice>
            ) : !token ? (
              <Skeleton lines={6} />
            ) : (
              <Frame demo={demo} token={token} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** The demo, with the key that its calls count on. */
function Frame({ demo, token }: { demo: Schemas["Demo"]; token: string }) {
  const { keys, error } = useUsableKeys();
  const search = useSearch({ from: "/console/demos/$demoId" });
  const navigate = useNavigate();
  if (error) return <Failed failure={asFailure(error)} />;
  if (!keys) return <Skeleton lines={6} />;
  const chosen = chosenKey(keys, search);
  if (!chosen)
    return (
      <Empty
        icon="spark"
        title="You need a key first"
        action={
          <Link to="/" className={buttonClass("primary")}>
            To the quick start
          </Link>
        }
      >
        A demo calls the gateway with one of your keys.
      </Empty>
    );
  const query = new URLSearchParams({ t: token, app_id: chosen.app.app_id, key_id: chosen.key.key_id });
  return (
    <div className="flex flex-col gap-4">
      <div className="max-w-md">
        <KeyPicker
          keys={keys}
          chosen={chosen}
          onChange={(k) =>
            void navigate({
              to: "/demos/$demoId",
              params: { demoId: demo.demo_id },
              search: { app: k.app.app_id, key: k.key.key_id },
              replace: true,
            })
          }
        />
      </div>
      <iframe
        title={demo.name}
        src={`${demo.path}?${query}`}
        allow="camera; microphone; autoplay"
        className="h-[75dvh] w-full rounded-xl border border-line bg-ground"
      />
    </div>
  );
}
