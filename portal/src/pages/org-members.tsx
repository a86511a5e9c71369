import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { foresee } from "../api/foresee";
import { org as orgQuery } from "../api/queries";
import { Moment } from "../format/time";
import { givable, may, mayTouch, type Role } from "../org/rights";
import { useDeveloper } from "../session/session";
import { Button } from "../ui/button";
import { Confirm, Dialog } from "../ui/dialog";
import { Card, Failed, Skeleton, Tag } from "../ui/layout";
import { Row, Rows } from "../ui/rows";
import { toast } from "../ui/toast";

type Org = Schemas["OrgDetail"];
type Member = Schemas["OrgMember"];

const key = orgQuery.queryKey;

export function Members({ org }: { org: Org }) {
  const client = useQueryClient();
  const developer = useDeveloper();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<Member>();
  const settle = () => void client.invalidateQueries({ queryKey: key });
  const refused = (thrown: unknown, _: unknown, undo: (() => void) | undefined) => {
    undo?.();
    toast("bad", asFailure(thrown).message);
  };
  const change = useMutation({
    mutationFn: ({ member, role }: { member: Member; role: Role }) =>
      ask(
        api.PUT("/dev/org/member/{dev_id}/role", {
          params: { path: { dev_id: member.dev_id } },
          body: { role },
        }),
      ),
    onMutate: ({ member, role }) =>
      foresee<Org>(client, key, (o) => ({
        ...o,
        members: o.members.map((m) => (m.dev_id === member.dev_id ? { ...m, role } : m)),
      })),
    onSuccess: (m) => toast("good", `${m.name} is ${m.role} now.`),
    onError: refused,
    onSettled: settle,
  });
  const remove = useMutation({
    mutationFn: (member: Member) =>
      ask(api.DELETE("/dev/org/member/{dev_id}", { params: { path: { dev_id: member.dev_id } } })),
    onMutate: (member) => {
      setLeaving(undefined);
      return foresee<Org>(client, key, (o) => ({
        ...o,
        members: o.members.filter((m) => m.dev_id !== member.dev_id),
      }));
    },
    onSuccess: (_, member) => toast("good", `${member.name} is not a member any more.`),
    onError: refused,
    onSettled: settle,
  });
  return (
    <Card
      title="Members"
      about={org.members.length === 1 ? "One person" : `${org.members.length} people`}
      actions={
        may(org.role, "manage") && (
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add a developer
          </Button>
        )
      }
    >
      <Rows label="Members">
        {org.members.map((m) => {
          const me = m.dev_id === developer?.id;
          const touchable = !me && mayTouch(org.role, m, org.members);
          return (
            <Row
              key={m.dev_id}
              actions={
                touchable ? (
                  <>
                    <select
                      aria-label={`Role of ${m.name}`}
                      className="field !w-auto capitalize"
                      value={m.role}
                      onChange={(e) => change.mutate({ member: m, role: e.target.value as Role })}
                    >
                      {givable(org.role).map((r) => (
                        <option key={r} value={r}>
                          {r}
                        </option>
                      ))}
                    </select>
                    <Button look="danger" aria-label={`Remove ${m.name}`} onClick={() => setLeaving(m)}>
                      Remove
                    </Button>
                  </>
                ) : (
                  <Tag tint={m.role === "owner" ? "accent" : "plain"}>{m.role}</Tag>
                )
              }
            >
              <p className="font-medium break-words">
                {m.name} {me && <Tag tint="accent">you</Tag>}
              </p>
              <p className="text-sm wrap-anywhere text-muted">{m.email}</p>
              <p className="text-sm text-muted">
                Joined <Moment at={m.joined_at} relative />
              </p>
            </Row>
          );
        })}
      </Rows>
      {adding && <AddMember org={org} onClose={() => setAdding(false)} />}
      {leaving && (
        <Confirm
          title={`Remove ${leaving.name}?`}
          action="Remove"
          busy={remove.isPending}
          onConfirm={() => remove.mutate(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          Their access ends at once. The apps and keys they made stay with the organization.
        </Confirm>
      )}
    </Card>
  );
}

const shortestSearch = 3;

function AddMember({ org, onClose }: { org: Org; onClose: () => void }) {
  const client = useQueryClient();
  const [wanted, setWanted] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const email = useDeferredValue(wanted.trim());
  const enough = email.length >= shortestSearch;
  const found = useQuery({
    queryKey: ["search developer", email],
    queryFn: () => ask(api.GET("/dev/org/search-developer", { params: { query: { email } } })),
    enabled: enough,
  });
  const add = useMutation({
    mutationFn: (id: string) => ask(api.POST("/dev/org/add-member", { body: { dev_id: id, role } })),
    onSuccess: async (m) => {
      await client.invalidateQueries({ queryKey: key });
      toast("good", `${m.name} is a member now.`);
      onClose();
    },
  });
  const isMember = (id: string) => org.members.some((m) => m.dev_id === id);
  return (
    <Dialog title="Add a developer" onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p className="text-muted">
          For people who have an account already. They are members at once, without a mail.
        </p>
        <div className="grid gap-4 sm:grid-cols-[1fr_auto]">
          <label className="flex min-w-0 flex-col gap-1">
            <span className="font-medium">Part of the e-mail address</span>
            <input
              className="field"
              type="search"
              value={wanted}
              maxLength={254}
              autoComplete="off"
              placeholder={`at least ${shortestSearch} characters`}
              onChange={(e) => setWanted(e.target.value)}
            />
          </label>
          <label className="flex flex-col gap-1">
            <span className="font-medium">Role</span>
            <select
              className="field capitalize"
              value={role}
              onChange={(e) => setRole(e.target.value as Role)}
            >
              {givable(org.role).map((r) => (
                <option key={r}>{r}</option>
              ))}
            </select>
          </label>
        </div>
        {add.isError && <Failed failure={asFailure(add.error)} />}
        <div aria-live="polite">
          {found.isError ? (
            <Failed failure={asFailure(found.error)} onRetry={() => void found.refetch()} />
          ) : !enough ? null : !found.data ? (
            <Skeleton lines={2} />
          ) : found.data.developers.length === 0 ? (
            <p className="text-muted">Nobody has such an address. Invite them instead.</p>
          ) : (
            <Rows label="Developers found">
              {found.data.developers.map((d) => (
                <Row
                  key={d.dev_id}
                  actions={
                    isMember(d.dev_id) ? (
                      <Tag>member</Tag>
                    ) : (
                      <Button
                        aria-label={`Add ${d.name}`}
                        disabled={add.isPending}
                        onClick={() => add.mutate(d.dev_id)}
                      >
                        Add
                      </Button>
                    )
                  }
                >
                  <p className="font-medium">{d.name}</p>
                  <p className="text-sm wrap-anywhere text-muted">{d.email}</p>
                </Row>
              ))}
            </Rows>
          )}
        </div>
      </div>
    </Dialog>
  );
}
