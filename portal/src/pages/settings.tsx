import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { sessions as sessionsQuery, totp as totpQuery } from "../api/queries";
import { Moment, zone } from "../format/time";
import { useDeveloper } from "../session/session";
import { Button } from "../ui/button";
import { Code } from "../ui/code";
import { Dialog } from "../ui/dialog";
import { Form, Submit, TextField, text } from "../ui/form";
import { Card, PageHead, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { chooseTheme, type Theme, useTheme } from "../ui/theme";
import { toast } from "../ui/toast";
import { agentName } from "./agent";
import { DeleteAccount, DeletionNotice, Export } from "./settings-account";

export function Settings() {
  return (
    <>
      <PageHead title="Settings" />
      <DeletionNotice />
      <div className="grid gap-4 lg:grid-cols-2">
        <Profile />
        <Appearance />
        <Password />
        <SecondFactor />
        <div className="min-w-0 lg:col-span-2">
          <Sessions />
        </div>
        <Export />
        <DeleteAccount />
      </div>
    </>
  );
}

function Profile() {
  const developer = useDeveloper();
  if (!developer) return null;
  const rows: [string, React.ReactNode][] = [
    ["Name", developer.name],
    [
      "E-mail",
      <span key="mail" className="flex flex-wrap gap-2">
        <span className="break-all">{developer.email}</span>
        <Tag tint={developer.email_verified ? "good" : "warn"}>
          {developer.email_verified ? "confirmed" : "not confirmed"}
        </Tag>
      </span>,
    ],
    [
      "Plan",
      <span key="plan" className="capitalize">
        {developer.plan}
      </span>,
    ],
    ["Since", <Moment key="since" at={developer.created_at} />],
    [
      "Id",
      <code key="id" className="font-mono text-sm">
        {developer.id}
      </code>,
    ],
  ];
  return (
    <Card title="Profile">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

const themes: { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

function Appearance() {
  const theme = useTheme();
  return (
    <Card title="Appearance">
      <fieldset>
        <legend className="mb-2 font-medium">Theme</legend>
        <div className="flex flex-wrap gap-2">
          {themes.map((t) => (
            <label
              key={t.value}
              className="flex items-center gap-2 rounded-lg border border-edge px-3 py-1.5 has-checked:border-accent has-checked:bg-wash"
            >
              <input
                type="radio"
                name="theme"
                className="accent-button"
                checked={theme === t.value}
                onChange={() => chooseTheme(t.value)}
              />
              {t.label}
            </label>
          ))}
        </div>
      </fieldset>
      <p className="mt-3 text-sm text-muted">Times are shown in {zone()}, as your browser says.</p>
    </Card>
  );
}

function Password() {
  const client = useQueryClient();
  return (
    <Card title="Password" about="Changing it ends all your other sessions.">
      <Form
        label="Change the password"
        onSubmit={async (data, form) => {
          const { ended } = await ask(
            api.POST("/dev/auth/change-password", {
              body: {
                current_password: text(data, "current_password"),
                new_password: text(data, "new_password"),
              },
            }),
          );
          form.reset();
          toast("good", `The password is changed. Other sessions ended: ${ended}.`);
          await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
        }}
      >
        <TextField
          label="Current password"
          name="current_password"
          type="password"
          required
          maxLength={128}
          autoComplete="current-password"
        />
        <TextField
          label="New password"
          name="new_password"
          type="password"
          required
          minLength={8}
          maxLength={128}
          autoComplete="new-password"
        />
        <Submit>Change password</Submit>
      </Form>
    </Card>
  );
}

type Step =
  | { at: "begin" | "disable" }
  | { at: "confirm"; enrolment: Schemas["TOTPEnrolment"] }
  | { at: "codes"; codes: string[] };

function SecondFactor() {
  const client = useQueryClient();
  const state = useQuery(totpQuery);
  const [step, setStep] = useState<Step>();
  const close = () => setStep(undefined);
  const fresh = () => client.invalidateQueries({ queryKey: totpQuery.queryKey });
  return (
    <Card title="Second factor" about="A code of an authenticator app at every sign-in.">
      <Loaded query={state} lines={2}>
        {({ enabled, recovery_codes_left }) => (
          <div className="flex flex-wrap items-center gap-3">
            <Tag tint={enabled ? "good" : "plain"}>{enabled ? "on" : "off"}</Tag>
            {enabled && <span className="text-muted">{recovery_codes_left} recovery codes left</span>}
            <Button onClick={() => setStep({ at: enabled ? "disable" : "begin" })}>
              {enabled ? "Turn it off" : "Set it up"}
            </Button>
          </div>
        )}
      </Loaded>
      {step?.at === "begin" && (
        <Dialog title="Set up a second factor" onClose={close}>
          <Form
            label="Set up a second factor"
            onSubmit={async (data) => {
              const body = { password: text(data, "password") };
              setStep({ at: "confirm", enrolment: await ask(api.POST("/dev/auth/totp", { body })) });
            }}
          >
            <TextField
              label="Your password"
              name="password"
              type="password"
              required
              autoComplete="current-password"
            />
            <Submit>Go on</Submit>
          </Form>
        </Dialog>
      )}
      {step?.at === "confirm" && (
        <Dialog title="Add it to your app" onClose={close}>
          <div className="flex flex-col gap-4">
            <p className="text-muted">
              Type this secret into your authenticator app, or open the link on the device that has it.
            </p>
            <Code text={step.enrolment.secret} label="Secret" />
            <a className="text-accent underline" href={step.enrolment.otpauth_url}>
              Open in an authenticator app
            </a>
            <Form
              label="Confirm the second factor"
              onSubmit={async (data) => {
                const body = { code: text(data, "code").trim() };
                const { recovery_codes } = await ask(api.POST("/dev/auth/totp/confirm", { body }));
                setStep({ at: "codes", codes: recovery_codes });
                await fresh();
              }}
            >
              <TextField
                label="Code of the app"
                name="code"
                required
                minLength={6}
                maxLength={6}
                inputMode="numeric"
                autoComplete="one-time-code"
              />
              <Submit>Turn it on</Submit>
            </Form>
          </div>
        </Dialog>
      )}
      {step?.at === "codes" && (
        <Dialog title="Recovery codes" onClose={close}>
          <p className="mb-3 text-muted">
            Each stands in for the app once. They are shown now and never again.
          </p>
          <Code text={step.codes.join("\n")} label="Recovery codes" />
        </Dialog>
      )}
      {step?.at === "disable" && (
        <Dialog title="Turn the second factor off" onClose={close}>
          <Form
            label="Turn the second factor off"
            onSubmit={async (data) => {
              const body = { password: text(data, "password"), code: text(data, "code").trim() };
              await ask(api.POST("/dev/auth/totp/disable", { body }));
              close();
              toast("good", "The second factor is off.");
              await fresh();
            }}
          >
            <TextField
              label="Your password"
              name="password"
              type="password"
              required
              autoComplete="current-password"
            />
            <TextField label="Code, or a recovery code" name="code" required autoComplete="one-time-code" />
            <Submit>Turn it off</Submit>
          </Form>
        </Dialog>
      )}
    </Card>
  );
}

function Sessions() {
  const client = useQueryClient();
  const sessions = useQuery(sessionsQuery);
  const end = useMutation({
    mutationFn: (id: string | undefined) =>
      id === undefined
        ? ask(api.DELETE("/dev/auth/sessions"))
        : ask(api.DELETE("/dev/auth/sessions/{session_id}", { params: { path: { session_id: id } } })),
    onSuccess: async ({ ended }) => {
      toast("good", ended === 1 ? "The session has ended." : `${ended} sessions have ended.`);
      await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  return (
    <Card
      title="Sessions"
      about="Where you are signed in."
      actions={
        (sessions.data?.length ?? 0) > 1 && (
          <Button disabled={end.isPending} onClick={() => end.mutate(undefined)}>
            End all others
          </Button>
        )
      }
    >
      <Loaded query={sessions}>
        {(list) => (
          <Table label="Sessions" head={["Browser", "Address", "Signed in", "Ends", "Actions"]}>
            {list.map((s) => (
              <tr key={s.session_id}>
                <td title={s.user_agent}>
                  {agentName(s.user_agent)} {s.current && <Tag tint="accent">this one</Tag>}
                </td>
                <td className="font-mono text-sm">{s.address}</td>
                <td className="whitespace-nowrap">
                  <Moment at={s.created_at} relative />
                </td>
                <td className="whitespace-nowrap text-muted">
                  <Moment at={s.expires_at} />
                </td>
                <td>
                  {!s.current && (
                    <Button disabled={end.isPending} onClick={() => end.mutate(s.session_id)}>
                      End
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
    </Card>
  );
}
