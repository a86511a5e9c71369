import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { app as appQuery, apps as appsQuery } from "../api/queries";
import { Moment } from "../format/time";
import { reached } from "../keys/receipt";
import { Button } from "../ui/button";
import { Confirm } from "../ui/dialog";
import { Choice, Form, Submit, TextArea, TextField, text } from "../ui/form";
import { Card } from "../ui/layout";
import { toast } from "../ui/toast";
import { useApp } from "./app";

export function AppSettings() {
  const app = useApp();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const update = async (body: Partial<Schemas["UpdateAppRequest"]>) => {
    const fresh = await ask(
      api.PUT("/dev/apps/{app_id}", {
        params: { path: { app_id: app.app_id } },
        body: body as Schemas["UpdateAppRequest"],
      }),
    );
    client.setQueryData(appQuery(app.app_id).queryKey, (old) => (old ? { ...old, ...fresh } : old));
    void client.invalidateQueries({ queryKey: appsQuery.queryKey, exact: true });
    return reached(fresh.receipt).text;
  };
  const power = useMutation({
    mutationFn: () => update({ active: !app.active }),
    onSuccess: (where) => toast("good", `The app is switched ${app.active ? "off" : "on"} ${where}.`),
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/dev/apps/{app_id}", { params: { path: { app_id: app.app_id } } })),
    onSuccess: async (answer) => {
      await navigate({ to: "/apps" });
      client.removeQueries({ queryKey: appQuery(app.app_id).queryKey });
      await client.invalidateQueries({ queryKey: appsQuery.queryKey, exact: true });
      toast("good", `${app.name} is deleted and its keys are revoked ${reached(answer.receipt).text}.`);
    },
  });

  return (
    <div className="flex max-w-2xl flex-col gap-4">
      <Card title="Settings">
        <Form
          key={app.updated_at}
          label="Settings of the app"
          onSubmit={async (data) => {
            const where = await update({
              name: text(data, "name"),
              description: text(data, "description"),
              environment: text(data, "environment") as Schemas["Environment"],
              rate_limit: Number(text(data, "rate_limit")),
            });
            toast("good", `The settings are saved ${where}.`);
          }}
        >
          <TextField label="Name" name="name" required maxLength={120} defaultValue={app.name} />
          <TextArea
            label="Description"
            name="description"
            maxLength={2000}
            rows={3}
            defaultValue={app.description}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <Choice
              label="Environment"
              name="environment"
              defaultValue={app.environment}
              hint="Holds for keys made from now on."
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
              defaultValue={app.rate_limit}
              hint="Over all keys of the app. The plan's rate holds as well."
            />
          </div>
          <p className="text-sm text-muted">
            {app.expires_at ? (
              <>
                Its keys stop working on <Moment at={app.expires_at} />.
              </>
            ) : (
              "Its keys do not expire."
            )}{" "}
            Last changed <Moment at={app.updated_at} relative />.
          </p>
          <Submit>Save settings</Submit>
        </Form>
      </Card>
      <Card title={app.active ? "Switch off" : "Switch on"}>
        <p className="mb-3 text-muted">
          {app.active
            ? "Keys of an app that is off are refused until it is on again."
            : "The app's keys are refused until it is on again."}
        </p>
        <Button disabled={power.isPending} onClick={() => power.mutate()}>
          {app.active ? "Switch the app off" : "Switch the app on"}
        </Button>
      </Card>
      <Card title="Delete">
        <p className="mb-3 text-muted">The app goes, and all its keys are revoked. This is final.</p>
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete the app
        </Button>
      </Card>
      {asking && (
        <Confirm
          title={`Delete ${app.name}?`}
          action="Delete"
          busy={remove.isPending}
          problem={remove.error ? asFailure(remove.error).message : undefined}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          {app.keys.filter((k) => k.status === "active").length} active keys are revoked with it.
        </Confirm>
      )}
    </div>
  );
}
