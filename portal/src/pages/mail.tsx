import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, ask } from "../api/client";
import { me } from "../api/queries";
import { currentDeveloper, updateDeveloper } from "../session/session";
import { buttonClass } from "../ui/button";
import { Form, Submit, TextField, text } from "../ui/form";
import { Notice, PageHead } from "../ui/layout";

/** The token of a mailed link. It is taken out of the address, so that it is in no history and no screenshot. */
function useToken(page: "/reset-password" | "/verify-email"): string {
  const search = useSearch({ strict: false });
  const [token] = useState(search.token ?? "");
  const navigate = useNavigate();
  useEffect(() => {
    if (search.token) void navigate({ to: page, search: { token: "" }, replace: true });
  }, [search.token, page, navigate]);
  return token;
}

function Done({ title, children }: { title: string; children: string }) {
  return (
    <>
      <PageHead title={title} />
      <Notice tint="good">{children}</Notice>
      <Link to="/" className={`mt-4 ${buttonClass("primary")}`}>
        To the portal
      </Link>
    </>
  );
}

function NoToken({ title, again }: { title: string; again: boolean }) {
  return (
    <>
      <PageHead title={title} />
      <Notice tint="warn">
        This link is not whole. Open it from the mail again{again ? ", or ask for a new one." : "."}
      </Notice>
      {again && (
        <Link to="/forgot-password" className={`mt-4 ${buttonClass()}`}>
          Ask for a new link
        </Link>
      )}
    </>
  );
}

export function ForgotPassword() {
  const [sentTo, setSentTo] = useState<string>();
  const title = "Forgot the password";
  if (sentTo)
    return (
      <Done title={title}>
        {`If ${sentTo} has an account, a mail with a link is on its way. The link works once, for an hour.`}
      </Done>
    );
  return (
    <>
      <PageHead title={title} about="We mail you a link to choose a new one." />
      <div className="card p-5">
        <Form
          label={title}
          onSubmit={async (data) => {
            const email = text(data, "email");
            await ask(api.POST("/dev/auth/forgot-password", { body: { email } }));
            setSentTo(email);
          }}
        >
          <TextField label="E-mail" name="email" type="email" required autoComplete="username" />
          <Submit wide>Send the link</Submit>
        </Form>
      </div>
      <p className="mt-4 text-center">
        <Link to="/sign-in" className="text-accent underline underline-offset-4">
          Back to sign-in
        </Link>
      </p>
    </>
  );
}

export function ResetPassword() {
  const token = useToken("/reset-password");
  const [done, setDone] = useState(false);
  const title = "Choose a new password";
  if (done) return <Done title={title}>The password is set, and all sessions have ended.</Done>;
  if (!token) return <NoToken title={title} again />;
  return (
    <>
      <PageHead title={title} />
      <div className="card p-5">
        <Form
          label={title}
          onSubmit={async (data) => {
            await ask(
              api.POST("/dev/auth/reset-password", { body: { token, password: text(data, "password") } }),
            );
            setDone(true);
          }}
        >
          <TextField
            label="New password"
            name="password"
            type="password"
            required
            minLength={8}
            maxLength={128}
            autoComplete="new-password"
            hint="At least 8 characters. A sentence is fine."
          />
          <Submit wide>Set the password</Submit>
        </Form>
      </div>
    </>
  );
}

export function VerifyEmail() {
  const token = useToken("/verify-email");
  const client = useQueryClient();
  const [done, setDone] = useState(false);
  const title = "Confirm your e-mail address";
  if (done) return <Done title={title}>The address is confirmed.</Done>;
  if (!token) return <NoToken title={title} again={false} />;
  return (
    <>
      <PageHead title={title} />
      <div className="card p-5">
        <Form
          label={title}
          onSubmit={async () => {
            await ask(api.POST("/dev/auth/verify-email", { body: { token } }));
            if (currentDeveloper()) updateDeveloper(await client.fetchQuery(me));
            setDone(true);
          }}
        >
          <Submit wide>Confirm</Submit>
        </Form>
      </div>
    </>
  );
}
