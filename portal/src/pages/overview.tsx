import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { gatewayURL, keyValue, rememberKey } from "../api/gateway";
import { app as appQuery, apps as appsQuery, limits as limitsQuery } from "../api/queries";
import { number } from "../format/number";
import { ago, Moment } from "../format/time";
import { useDeveloper } from "../session/session";
import { SnippetTabs } from "../snippet/tabs";
import { Button, buttonClass } from "../ui/button";
import { Icon } from "../ui/icon";
import { Card, Failed, Notice, PageHead, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { Meter } from "../ui/meter";
import { toast } from "../ui/toast";
import { DeletionNotice } from "./settings-account";

const prompt = "Say hello in three languages.";

export function Overview() {
  const developer = useDeveloper();
  const apps = useQuery(appsQuery);
  return (
    <>
      <PageHead
        title={`Hello, ${developer?.name.split(" ")[0] ?? ""}`}
        about="One endpoint, one key: from here to a streamed answer in three steps."
      />
      <DeletionNotice />
      {developer && !developer.email_verified && <Unconfirmed email={developer.email} />}
      <div className="grid gap-4 xl:grid-cols-3">
        <div className="min-w-0 xl:col-span-2">
          <Loaded query={apps} lines={8}>
            {(list) => <QuickStart apps={list} />}
          </Loaded>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Today />
          <Card
            title="Apps"
            actions={
              <Link to="/apps" className={buttonClass()}>
                All apps
              </Link>
            }
          >
            <Loaded query={apps}>{(list) => <LatestApps apps={list} />}</Loaded>
          </Card>
        </div>
      </div>
    </>
  );
}

function Unconfirmed({ email }: { email: string }) {
  const send = useMutation({
    mutationFn: () => ask(api.POST("/dev/auth/verify-email/send")),
    onSuccess: ({ to }) => toast("good", `A link is on its way to ${to}.`),
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  return (
    <div className="mb-4">
      <Notice tint="warn">
        <span className="flex flex-wrap items-center justify-between gap-3">
          <span className="min-w-0 break-words">
            {email} is not confirmed yet. Open the link in the mail that we sent.
          </span>
          <Button disabled={send.isPending} onClick={() => send.mutate()}>
            Send it again
          </Button>
        </span>
      </Notice>
    </div>
  );
}

function Today() {
  const limits = useQuery(limitsQuery);
  return (
    <Card
      title="Today"
      actions={
        <Link to="/limits" className={buttonClass()}>
          Limits
        </Link>
      }
    >
      <Loaded query={limits}>
        {({ day, minute, plan }) => (
          <>
            <p className="mb-2 flex items-baseline justify-between gap-2">
              <span className="text-2xl font-semibold tabular-nums">{number(day.used)}</span>
              <span className="text-muted">of {number(day.limit)} live calls</span>
            </p>
            <Meter label="Live calls today" used={day.used} limit={day.limit} />
            <p className="mt-2 text-sm text-muted">
              Starts anew {ago(day.resets_at)}. The {plan} plan allows {number(minute.limit)} calls a minute
              and key; test keys do not count against the day.
            </p>
          </>
        )}
      </Loaded>
    </Card>
  );
}

const latest = 4;

function LatestApps({ apps }: { apps: Schemas["App"][] }) {
  if (apps.length === 0) return <p className="text-muted">None yet.</p>;
  return (
    <ul className="divide-y divide-line">
      {apps.slice(0, latest).map((a) => (
        <li key={a.app_id} className="flex items-center justify-between gap-3 py-2">
          <Link
            to="/apps/$appId"
            params={{ appId: a.app_id }}
            className="min-w-0 truncate font-medium hover:underline"
          >
            {a.name}
          </Link>
          <span className="flex items-center gap-2 text-sm whitespace-nowrap text-muted">
            <Tag tint={a.environment === "live" ? "accent" : "plain"}>{a.environment}</Tag>
            <Moment at={a.created_at} relative />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Step({
  n,
  done,
  title,
  children,
}: {
  n: number;
  done: boolean;
  title: string;
  children: React.ReactNode;
}) {
  return (
    <li className="flex gap-4">
      <span
        className={`mt-0.5 grid size-7 shrink-0 place-items-center rounded-full text-sm font-semibold ${done ? "bg-good-wash text-good" : "bg-wash text-accent"}`}
      >
        {done ? <Icon name="check" /> : n}
        {done && <span className="sr-only">Done:</span>}
      </span>
      <div className="min-w-0 grow pb-6">
        <h3 className="font-semibold">{title}</h3>
        <div className="mt-1 flex flex-col gap-3 text-muted">{children}</div>
      </div>
    </li>
  );
}

/** From nothing to a call: an app, a key, and the call with that key in it. */
function QuickStart({ apps }: { apps: Schemas["App"][] }) {
  const client = useQueryClient();
  const first = apps.find((a) => a.active && a.environment === "test") ?? apps.find((a) => a.active);
  const detail = useQuery({ ...appQuery(first?.app_id ?? ""), enabled: first !== undefined });
  const key = detail.data?.keys.find((k) => k.status === "active");
  const [value, setValue] = useState<string>();

  const createApp = useMutation({
    mutationFn: () => ask(api.POST("/dev/apps", { body: { name: "My first app" } })),
    onSuccess: () => client.invalidateQueries({ queryKey: appsQuery.queryKey }),
  });
  const createKey = useMutation({
    mutationFn: async (appID: string) => {
      const fresh = await ask(api.POST("/dev/apps/{app_id}/keys", { params: { path: { app_id: appID } } }));
      rememberKey(fresh.key_id, fresh.key);
      setValue(fresh.key);
      await client.invalidateQueries({ queryKey: appQuery(appID).queryKey });
      return fresh;
    },
  });
  const reveal = useMutation({
    mutationFn: async (keyID: string) => setValue(await keyValue(first?.app_id ?? "", keyID)),
  });
  const failed = createApp.error ?? createKey.error ?? reveal.error ?? detail.error;

  return (
    <Card title="Quick start">
      <ol className="mt-4">
        <Step n={1} done={first !== undefined} title="An app">
          {first ? (
            <p>
              <Link to="/apps/$appId" params={{ appId: first.app_id }} className="text-accent underline">
                {first.name}
              </Link>{" "}
              holds your keys and says what they may do.
            </p>
          ) : (
            <>
              <p>An app holds keys and says what they may do. Test apps cost nothing.</p>
              <div>
                <Button
                  look="primary"
                  icon="plus"
                  disabled={createApp.isPending}
                  onClick={() => createApp.mutate()}
                >
                  Create a test app
                </Button>
              </div>
            </>
          )}
        </Step>
        <Step n={2} done={key !== undefined} title="A key">
          {key ? (
            <p>
              <code className="font-mono break-all">{key.hint}</code>{" "}
              {key.last_used_at ? (
                <>
                  was last used <Moment at={key.last_used_at} relative />.
                </>
              ) : (
                "is ready."
              )}
            </p>
          ) : (
            <>
              <p>The key goes into the header of every call.</p>
              <div>
                <Button
                  look="primary"
                  icon="plus"
                  disabled={!first || createKey.isPending || detail.isLoading}
                  onClick={() => first && createKey.mutate(first.app_id)}
                >
                  Create a key
                </Button>
              </div>
            </>
          )}
        </Step>
        <Step n={3} done={key?.last_used_at != null} title="A call">
          <p>
            Paste this into a terminal, or{" "}
            <Link
              to="/playground"
              search={first ? { app: first.app_id } : {}}
              className="text-accent underline"
            >
              try it in the playground
            </Link>
            .{" "}
            {key &&
              (value
                ? "Your key is in it: do not share it as it is."
                : "Your key is not in it until you ask for it.")}
          </p>
          {key && !value && (
            <div>
              <Button icon="eye" disabled={reveal.isPending} onClick={() => reveal.mutate(key.key_id)}>
                Put my key in
              </Button>
            </div>
          )}
          <SnippetTabs sample={{ gateway: gatewayURL(), body: { prompt, stream: true }, apiKey: value }} />
        </Step>
      </ol>
      {failed && <Failed failure={asFailure(failed)} />}
    </Card>
  );
}
