import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { foresee } from "../api/foresee";
import { org as orgQuery } from "../api/queries";
import { Moment } from "../format/time";
import { givable, roleAbout } from "../org/rights";
import { Button, CopyButton } from "../ui/button";
import { Code } from "../ui/code";
import { Confirm, Dialog } from "../ui/dialog";
import { Choice, Form, Submit, TextField, text } from "../ui/form";
import { Card, Empty, Notice, Tag, type Tint } from "../ui/layout";
import { Row, Rows } from "../ui/rows";
import { toast } from "../ui/toast";

type Org = Schemas["OrgDetail"];
type Invite = Schemas["Invite"];

const key = orgQuery.queryKey;

const tints: Record<Schemas["InviteStatus"], Tint> = {
  pending: "warn",
  accepted: "good",
  revoked: "plain",
  expired: "plain",
};

/** The link of an invite. It is no secret: only who has the invited address can use it. */
const linkOf = (id: string) => `${location.origin}/dev/#/invite?token=${encodeURIComponent(id)}`;

export function Invites({ org }: { org: Org }) {
  const client = useQueryClient();
  const [inviting, setInviting] = useState(false);
  const [sent, setSent] = useState<Schemas["InviteSent"]>();
  const [revoking, setRevoking] = useState<Invite>();
  const settle = () => void client.invalidateQueries({ queryKey: key });
  const path = (i: Invite) => ({ params: { path: { invite_id: i.invite_id } } });
  const resend = useMutation({
    mutationFn: (i: Invite) => ask(api.POST("/dev/org/invite/{invite_id}/resend", path(i))),
    onSuccess: setSent,
    onError: (thrown) => toast("bad", asFailure(thrown).message),
    onSettled: settle,
  });
  const revoke = useMutation({
    mutationFn: (i: Invite) => ask(api.DELETE("/dev/org/invite/{invite_id}", path(i))),
    onMutate: (i) => {
      setRevoking(undefined);
      return foresee<Org>(client, key, (o) => ({
        ...o,
        invites: o.invites.map((x) =>
          x.invite_id === i.invite_id ? { ...x, status: "revoked" as const } : x,
        ),
      }));
    },
    onSuccess: (_, i) => toast("good", `The invite of ${i.email} is revoked.`),
    onError: (thrown, _, undo) => {
      undo?.();
      toast("bad", asFailure(thrown).message);
    },
    onSettled: settle,
  });
  const add = (
    <Button look="primary" icon="plus" onClick={() => setInviting(true)}>
      Invite
    </Button>
  );
  return (
    <Card title="Invites" about="A link that works once, for seven days." actions={add}>
      {org.invites.length === 0 ? (
        <Empty icon="send" title="Nobody is invited">
          Who is invited by e-mail needs no account yet.
        </Empty>
      ) : (
        <Rows label="Invites">
          {org.invites.map((i) => (
            <Row
              key={i.invite_id}
              actions={
                <>
                  {i.status === "pending" && <CopyButton text={linkOf(i.invite_id)} label="Copy link" />}
                  {(i.status === "pending" || i.status === "expired") && (
                    <Button
                      aria-label={`Resend to ${i.email}`}
                      disabled={resend.isPending}
                      onClick={() => resend.mutate(i)}
                    >
                      Resend
                    </Button>
                  )}
                  {i.status === "pending" && (
                    <Button look="danger" aria-label={`Revoke ${i.email}`} onClick={() => setRevoking(i)}>
                      Revoke
                    </Button>
                  )}
                </>
              }
            >
              <p className="font-medium wrap-anywhere">{i.email}</p>
              <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
                <Tag tint={tints[i.status]}>{i.status}</Tag> as {i.role}
                {i.status === "pending" && (
                  <span>
                    · until <Moment at={i.expires_at} />
                  </span>
                )}
              </p>
            </Row>
          ))}
        </Rows>
      )}
      {inviting && (
        <NewInvite
          org={org}
          onClose={() => setInviting(false)}
          onSent={(answer) => {
            setInviting(false);
            setSent(answer);
            settle();
          }}
        />
      )}
      {sent && <Sent invite={sent} onClose={() => setSent(undefined)} />}
      {revoking && (
        <Confirm
          title={`Revoke the invite of ${revoking.email}?`}
          action="Revoke"
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          Its link stops working. You can invite the address again.
        </Confirm>
      )}
    </Card>
  );
}

function NewInvite({
  org,
  onClose,
  onSent,
}: {
  org: Org;
  onClose: () => void;
  onSent: (i: Schemas["InviteSent"]) => void;
}) {
  const [role, setRole] = useState<Schemas["Role"]>("developer");
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form
        label="Invite somebody"
        onSubmit={async (data) =>
          onSent(
            await ask(api.POST("/dev/org/invite", { body: { email: text(data, "email").trim(), role } })),
          )
        }
      >
        <TextField
          label="E-mail"
          name="email"
          type="email"
          required
          maxLength={254}
          hint="Only an account with this address can accept."
        />
        <Choice
          label="Role"
          name="role"
          value={role}
          hint={roleAbout[role]}
          onChange={(e) => setRole(e.target.value as Schemas["Role"])}
        >
          {givable(org.role).map((r) => (
            <option key={r}>{r}</option>
          ))}
        </Choice>
        <Submit>Invite</Submit>
      </Form>
    </Dialog>
  );
}

function Sent({ invite, onClose }: { invite: Schemas["InviteSent"]; onClose: () => void }) {
  return (
    <Dialog title={invite.email_sent ? "The invite is on its way" : "Pass the link on"} onClose={onClose}>
      <div className="flex flex-col gap-4">
        {invite.email_sent ? (
          <Notice tint="good">We mailed it to {invite.email}. You can pass the link on yourself, too.</Notice>
        ) : (
          <Notice tint="warn">
            E-mail is not configured here, so nothing was sent to {invite.email}. Give them this link.
          </Notice>
        )}
        <Code text={invite.link ?? linkOf(invite.invite_id)} label="Link of the invite" />
        <p className="text-sm text-muted">
          It works once, until <Moment at={invite.expires_at} />, for {invite.email} only.
        </p>
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
