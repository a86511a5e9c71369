import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { billingAlerts, type Scope } from "../api/queries";
import { Moment } from "../format/time";
import { Button } from "../ui/button";
import { Code } from "../ui/code";
import { Confirm, Dialog } from "../ui/dialog";
import { Form, Submit, TextField } from "../ui/form";
import { Card, Failed, Notice, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { toast } from "../ui/toast";
import { alertRequest, outcome, silence, subject, thresholds } from "./alerts";

/** Who is told when the calls of a day come near the quota, and what was told last. */
export function Alerts({ scope }: { scope: Scope }) {
  const settings = useQuery(billingAlerts(scope));
  return (
    <Card
      title="Usage alerts"
      about="Who is told when the calls of the UTC day reach a share of the day quota. Each share is told once a day."
    >
      <Loaded query={settings} lines={5}>
        {(s) => <Settings key={scope} settings={s} scope={scope} />}
      </Loaded>
    </Card>
  );
}

function Settings({ settings, scope }: { settings: Schemas["AlertSettings"]; scope: Scope }) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string>();
  const quiet = silence(settings);
  return (
    <div className="flex flex-col gap-5">
      {quiet && <Notice tint="accent">{quiet}</Notice>}
      <Form
        label="Usage alerts"
        onSubmit={async (data) => {
          const saved = await ask(
            api.PUT("/dev/billing/alerts", { params: { query: { scope } }, body: alertRequest(data) }),
          );
          queries.setQueryData(billingAlerts(scope).queryKey, { ...saved, webhook_secret: null });
          if (saved.webhook_secret) setSecret(saved.webhook_secret);
          toast("good", "The alerts are saved.");
        }}
      >
        <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
          <legend className="mb-2 font-medium">Shares of the day quota</legend>
          {thresholds.map((percent) => (
            <Check
              key={percent}
              name="thresholds"
              value={String(percent)}
              checked={settings.thresholds.includes(percent)}
            >
              {percent} %
            </Check>
          ))}
        </fieldset>
        <Check name="mail" checked={settings.mail}>
          {scope === "account"
            ? "Mail to my confirmed address"
            : "Mail to the members who may pay, at their confirmed addresses"}
        </Check>
        <TextField
          label="Webhook"
          name="webhook_url"
          type="text"
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          maxLength={2048}
          defaultValue={settings.webhook_url ?? ""}
          placeholder="https://example.com/modelgate"
          hint="Gets a signed POST. https and public; empty for none."
        />
        <Submit>Save the alerts</Submit>
      </Form>
      {settings.webhook_url !== null && <Webhook scope={scope} onSecret={setSecret} />}
      {(settings.webhook_url !== null || settings.deliveries.length > 0) && (
        <Deliveries list={settings.deliveries} />
      )}
      {secret && (
        <Dialog title="The signing secret" onClose={() => setSecret(undefined)} wide>
          <p className="mb-4 text-muted">
            It is shown now and never again. With it the receiver proves that a notification is ours.
          </p>
          <Code text={secret} label="The secret" />
        </Dialog>
      )}
    </div>
  );
}

/** A box with its label, large enough for a finger. */
function Check({
  name,
  value,
  checked,
  children,
}: {
  name: string;
  value?: string;
  checked: boolean;
  children: React.ReactNode;
}) {
  return (
    <label className="flex min-h-9 items-center gap-3">
      <input type="checkbox" name={name} value={value} defaultChecked={checked} />
      <span className="min-w-0">{children}</span>
    </label>
  );
}

/** What can be done with a webhook that is saved. */
function Webhook({ scope, onSecret }: { scope: Scope; onSecret: (secret: string) => void }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const rotate = useMutation({
    mutationFn: () => ask(api.POST("/dev/billing/alerts/secret", { params: { query: { scope } } })),
    onSuccess: ({ webhook_secret }) => {
      setAsking(false);
      onSecret(webhook_secret);
    },
  });
  const test = useMutation({
    mutationFn: () => ask(api.POST("/dev/billing/alerts/test", { params: { query: { scope } } })),
    onSuccess: (s) => {
      queries.setQueryData(billingAlerts(scope).queryKey, s);
      toast("good", "A test is on its way. How it went shows in the list.");
    },
  });
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <Button disabled={test.isPending} onClick={() => test.mutate()}>
          Send a test
        </Button>
        <Button onClick={() => setAsking(true)}>Replace the signing secret</Button>
      </div>
      {test.isError && <Failed failure={asFailure(test.error)} />}
      {asking && (
        <Confirm
          title="Replace the signing secret?"
          action="Replace it"
          busy={rotate.isPending}
          problem={rotate.isError ? asFailure(rotate.error).message : undefined}
          onConfirm={() => rotate.mutate()}
          onClose={() => setAsking(false)}
        >
          The new one signs at once. A receiver that does not know it yet refuses what is sent, which is then
          sent again for a day.
        </Confirm>
      )}
    </div>
  );
}

function Deliveries({ list }: { list: Schemas["AlertDelivery"][] }) {
  return (
    <div>
      <h3 className="mb-2 font-medium">Last notifications to the webhook</h3>
      {list.length === 0 ? (
        <p className="text-muted">There are none yet.</p>
      ) : (
        <Table
          label="Last notifications to the webhook"
          head={["What", "When", "State", "Attempts", "Problem"]}
        >
          {list.map((d) => {
            const { tint, text } = outcome(d);
            return (
              <tr key={d.id}>
                <td className="whitespace-nowrap">{subject(d)}</td>
                <td className="whitespace-nowrap">
                  <Moment at={d.created_at} relative />
                </td>
                <td className="whitespace-nowrap">
                  <Tag tint={tint}>{text}</Tag>
                </td>
                <td className="tabular-nums">{d.attempts}</td>
                <td className="min-w-48">{d.reason ?? "none"}</td>
              </tr>
            );
          })}
        </Table>
      )}
    </div>
  );
}
