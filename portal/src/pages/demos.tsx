import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { demos } from "../api/queries";
import { freshToken } from "../session/session";
import { buttonClass } from "../ui/button";
import { Empty, Notice, PageHead, Skeleton, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";

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
                    <span className="text-sm text-muted">Needs {d.families.join(", ")}</span>
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
              <iframe
                title={demo.name}
                src={`${demo.path}?t=${encodeURIComponent(token)}`}
                allow="camera; microphone; autoplay"
                className="h-[75dvh] w-full rounded-xl border border-line bg-ground"
              />
            )}
          </>
        );
      }}
    </Loaded>
  );
}
