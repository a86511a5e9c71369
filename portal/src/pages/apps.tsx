import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { apps as appsQuery, limits as limitsQuery } from "../api/queries";
import { number } from "../format/number";
import { Moment } from "../format/time";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Choice, Form, Submit, TextArea, TextField, text } from "../ui/form";
import { Empty, PageHead, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";

export function Apps() {
  const [making, setMaking] = useState(false);
  const apps = useQuery(appsQuery);
  const limits = useQuery(limitsQuery);
  const room = limits.data?.apps;
  return (
    <>
      <PageHead
        title="Apps and keys"
        about={
          <>
            An app holds keys and says what they may do.
            {room && room.limit !== null && ` ${room.used} of ${room.limit} apps of your plan.`}
          </>
        }
      >
        <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
          New app
        </Button>
      </PageHead>
      <Loaded query={apps} lines={6}>
        {(list) =>
          list.length === 0 ? (
            <Empty
              icon="apps"
              title="No apps yet"
              action={
                <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
                  Create your first app
                </Button>
              }
            >
              Make one for each program that calls, so that you see its usage and can end its keys alone.
            </Empty>
          ) : (
            <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
              {list.map((a) => (
                <AppCard key={a.app_id} app={a} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {making && <NewApp onClose={() => setMaking(false)} />}
    </>
  );
}

function AppCard({ app }: { app: Schemas["App"] }) {
  return (
    <li className="card relative flex min-w-0 flex-col gap-2 p-4 focus-within:border-accent hover:border-accent">
      <div className="flex items-start justify-between gap-2">
        <Link
          to="/apps/$appId"
          params={{ appId: app.app_id }}
          className="min-w-0 font-semibold break-words after:absolute after:inset-0 after:rounded-xl"
        >
          {app.name}
        </Link>
        <span className="flex gap-1">
          {!app.active && <Tag tint="bad">off</Tag>}
          <Tag tint={app.environment === "live" ? "accent" : "plain"}>{app.environment}</Tag>
        </span>
      </div>
      {app.description && <p className="line-clamp-2 text-muted">{app.description}</p>}
      <p className="mt-auto text-sm text-muted">
        {app.families.length === 0 ? "All families" : app.families.join(", ")} · {number(app.rate_limit)}{" "}
        calls a minute · <Moment at={app.created_at} relative />
      </p>
    </li>
  );
}

function NewApp({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <Dialog title="New app" onClose={onClose}>
      <Form
        label="New app"
        onSubmit={async (data) => {
          const expires = text(data, "expires_at");
          const app = await ask(
            api.POST("/dev/apps", {
              body: {
                name: text(data, "name"),
                description: text(data, "description"),
                environment: text(data, "environment") as Schemas["Environment"],
                rate_limit: Number(text(data, "rate_limit")),
                families: [],
                tasks: [],
                ...(expires ? { expires_at: new Date(expires).toISOString() } : {}),
              },
            }),
          );
          client.setQueryData(appsQuery.queryKey, (list) => [app, ...(list ?? [])]);
          void client.invalidateQueries({ queryKey: limitsQuery.queryKey });
          onClose();
          await navigate({ to: "/apps/$appId", params: { appId: app.app_id } });
        }}
      >
        <TextField label="Name" name="name" required maxLength={120} placeholder="Support bot" />
        <TextArea label="Description" name="description" maxLength={2000} rows={2} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Choice
            label="Environment"
            name="environment"
            defaultValue="test"
            hint="Test keys do not count against the day quota."
          >
            <option value="test">Test</option>
            <option value="live">Live</option>
          </Choice>
          <TextField
            label="Calls per minute"
            name="rate_limit"
            type="number"
            min={1}
            max={1_000_000}
            required
            defaultValue={100}
            hint="Over all keys of the app."
          />
        </div>
        <TextField
          label="Expires"
          name="expires_at"
          type="datetime-local"
          hint="Empty: never. Its keys stop working then."
        />
        <Submit>Create app</Submit>
      </Form>
    </Dialog>
  );
}
