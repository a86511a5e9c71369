import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { Failure } from "../api/failure";
import { beginSession } from "../session/session";
import { Form, Submit, TextField, text } from "../ui/form";
import { PageHead } from "../ui/layout";
import { GoogleButton } from "./google";

/** Goes to where the visitor wanted to go. */
function useArrive() {
  const navigate = useNavigate();
  const { next } = useSearch({ strict: false });
  return (session: Schemas["Session"]) => {
    beginSession(session);
    return navigate({ href: next ?? "/", replace: true });
  };
}

const link = "text-accent underline underline-offset-4";

export function SignUp() {
  const arrive = useArrive();
  const search = useSearch({ strict: false });
  const [challenge, setChallenge] = useState<string>();
  if (challenge)
    return <SecondFactor challenge={challenge} arrive={arrive} restart={() => setChallenge(undefined)} />;
  return (
    <>
      <PageHead
        title="One key, every model"
        about="Create an account, make an app and a key, and stream your first answer. It takes three steps and no reading."
      />
      <div className="card p-5">
        <Form
          label="Create an account"
          onSubmit={async (data) =>
            arrive(
              await ask(
                api.POST("/dev/auth/register", {
                  body: {
                    name: text(data, "name"),
                    email: text(data, "email"),
                    password: text(data, "password"),
                  },
                }),
              ),
            )
          }
        >
          <TextField label="Name" name="name" required maxLength={120} autoComplete="name" />
          <TextField label="E-mail" name="email" type="email" required autoComplete="email" />
          <TextField
            label="Password"
            name="password"
            type="password"
            required
            minLength={8}
            maxLength={128}
            autoComplete="new-password"
            hint="At least 8 characters. A sentence is fine."
          />
          <Submit wide>Create account</Submit>
        </Form>
        <GoogleButton
          onSignedIn={(answer) =>
            "challenge" in answer ? setChallenge(answer.challenge) : void arrive(answer)
          }
        />
      </div>
      <p className="mt-4 text-center text-muted">
        You have an account?{" "}
        <Link to="/sign-in" search={search.next ? { next: search.next } : {}} className={link}>
          Sign in
        </Link>
      </p>
    </>
  );
}

export function SignIn() {
  const arrive = useArrive();
  const search = useSearch({ strict: false });
  const [challenge, setChallenge] = useState<string>();
  if (challenge)
    return <SecondFactor challenge={challenge} arrive={arrive} restart={() => setChallenge(undefined)} />;
  return (
    <>
      <PageHead title="Sign in" />
      <div className="card p-5">
        <Form
          label="Sign in"
          onSubmit={async (data) => {
            const answer = await ask(
              api.POST("/dev/auth/login", {
                body: { email: text(data, "email"), password: text(data, "password") },
              }),
            );
            if ("challenge" in answer) setChallenge(answer.challenge);
            else await arrive(answer);
          }}
        >
          <TextField label="E-mail" name="email" type="email" required autoComplete="username" />
          <TextField
            label="Password"
            name="password"
            type="password"
            required
            autoComplete="current-password"
          />
          <Submit wide>Sign in</Submit>
        </Form>
        <GoogleButton
          onSignedIn={(answer) =>
            "challenge" in answer ? setChallenge(answer.challenge) : void arrive(answer)
          }
        />
        <p className="mt-4 text-center">
          <Link to="/forgot-password" className={link}>
            Forgot the password?
          </Link>
        </p>
      </div>
      <p className="mt-4 text-center text-muted">
        New here?{" "}
        <Link to="/sign-up" search={search.next ? { next: search.next } : {}} className={link}>
          Create an account
        </Link>
      </p>
    </>
  );
}

function SecondFactor({
  challenge,
  arrive,
  restart,
}: {
  challenge: string;
  arrive: (s: Schemas["Session"]) => Promise<void>;
  restart: () => void;
}) {
  return (
    <>
      <PageHead
        title="Second factor"
        about="The password is right. Now the code of your authenticator app."
      />
      <div className="card p-5">
        <Form
          label="Second factor"
          onSubmit={async (data) => {
            try {
              await arrive(
                await ask(
                  api.POST("/dev/auth/login/totp", { body: { challenge, code: text(data, "code").trim() } }),
                ),
              );
            } catch (thrown) {
              if (thrown instanceof Failure && thrown.status === 401) restart(); // the challenge expired
              throw thrown;
            }
          }}
        >
          <TextField
            label="Code, or a recovery code"
            name="code"
            required
            minLength={6}
            maxLength={40}
            autoComplete="one-time-code"
          />
          <Submit wide>Sign in</Submit>
        </Form>
      </div>
    </>
  );
}
