import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, ask, type Schemas } from "../api/client";
import { asFailure, Failure } from "../api/failure";
import { inviteInfo, me } from "../api/queries";
import { signOut } from "../app/signout";
import { Moment } from "../format/time";
import { fits } from "../org/mask";
import { roleAbout } from "../org/rights";
import { updateDeveloper, useDeveloper } from "../session/session";
import { Button, buttonClass } from "../ui/button";
import { Failed, Notice, PageHead, Skeleton } from "../ui/layout";
import { toast } from "../ui/toast";

/** Where the link of an invite leads: what it is for, then sign in or up, then accept. */
export function InviteLanding() {
  const { token = "" } = useSearch({ strict: false });
  const info = useQuery({ ...inviteInfo(token), enabled: token !== "" });
  if (!token) return <Over title="This link is not whole">Open it from the mail again, all of it.</Over>;
  if (info.data) return <Invited invite={info.data} />;
  if (info.isError) {
    const failure = asFailure(info.error);
    if (failure.status === 404)
      return (
        <Over title="There is no such invite">
          The link may be mistyped, or the organization is gone. Ask whoever sent it for a new one.
        </Over>
      );
    return (
      <>
        <PageHead title="Invite" />
        <Failed failure={failure} onRetry={() => void info.refetch()} />
      </>
    );
  }
  return (
    <>
      <PageHead title="Invite" />
      <Skeleton lines={4} />
    </>
  );
}

function Over({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <>
      <PageHead title={title} />
      <Notice tint="warn">{children}</Notice>
      <Link to="/" className={`mt-4 ${buttonClass("primary")}`}>
        To the portal
      </Link>
    </>
  );
}

function Invited({ invite }: { invite: Schemas["InviteInfo"] }) {
  const developer = useDeveloper();
  if (invite.status === "accepted")
    return (
      <Over title="This invite was used">
        It was accepted once, which is as often as it works. If that was you, the organization is in the
        portal.
      </Over>
    );
  if (invite.status === "revoked")
    return <Over title="This invite was taken back">Ask {invite.invited_by} for a new one.</Over>;
  if (invite.status === "expired")
    return (
      <Over title="This invite has expired">
        It ended on <Moment at={invite.expires_at} />. Ask {invite.invited_by} to send it again.
      </Over>
    );
  return (
    <>
      <PageHead
        title={`Join ${invite.org_name}`}
        about={`${invite.invited_by} invites you, as ${invite.role}: ${roleAbout[invite.role].toLowerCase()}`}
      />
      <div className="card flex flex-col gap-4 p-5">
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
          <dt className="text-muted">For</dt>
          <dd className="wrap-anywhere">{invite.email}</dd>
          <dt className="text-muted">Until</dt>
          <dd>
            <Moment at={invite.expires_at} />
          </dd>
        </dl>
        {developer ? <Accept invite={invite} developer={developer} /> : <Enter id={invite.invite_id} />}
      </div>
    </>
  );
}

function Enter({ id }: { id: string }) {
  const next = `/invite?token=${encodeURIComponent(id)}`;
  return (
    <>
      <p className="text-muted">Sign in with that address, or make an account with it.</p>
      <div className="flex flex-wrap gap-2">
        <Link to="/sign-up" search={{ next }} className={buttonClass("primary")}>
          Create an account
        </Link>
        <Link to="/sign-in" search={{ next }} className={buttonClass()}>
          Sign in
        </Link>
      </div>
    </>
  );
}

function Accept({ invite, developer }: { invite: Schemas["InviteInfo"]; developer: Schemas["Developer"] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: () => ask(api.POST("/dev/org/accept-invite", { body: { invite_id: invite.invite_id } })),
    onSuccess: async (joined) => {
      updateDeveloper(await client.fetchQuery({ ...me, staleTime: 0 }));
      client.clear();
      toast("good", `You are a member of ${joined.name} now.`);
      await navigate({ to: "/organization", replace: true });
    },
  });
  const send = useMutation({
    mutationFn: () => ask(api.POST("/dev/auth/verify-email/send")),
    onSuccess: ({ to }) => toast("good", `A link is on its way to ${to}. Open it, then accept.`),
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  const other = !fits(developer.email, invite.email);
  const unconfirmed =
    !other && !developer.email_verified && accept.error instanceof Failure && accept.error.status === 403;
  return (
    <>
      {other ? (
        <Notice tint="warn">
          You are signed in as {developer.email}, and the invite is for another address. Sign out, and come
          back with the one it was sent to.
        </Notice>
      ) : (
        <p className="text-muted">
          You are signed in as <span className="wrap-anywhere text-ink">{developer.email}</span>.
        </p>
      )}
      {accept.isError && !unconfirmed && <Failed failure={asFailure(accept.error)} />}
      {unconfirmed && (
        <Notice tint="bad">
          Confirm your address first: open the link that was mailed to it, then accept here.
        </Notice>
      )}
      {unconfirmed && (
        <Button disabled={send.isPending} onClick={() => send.mutate()}>
          Send the link that confirms the address
        </Button>
      )}
      <div className="flex flex-wrap gap-2">
        {!other && (
          <Button look="primary" disabled={accept.isPending} onClick={() => accept.mutate()}>
            Accept and join
          </Button>
        )}
        <Button look={other ? "primary" : "plain"} onClick={() => void signOut()}>
          Use another account
        </Button>
      </div>
    </>
  );
}
