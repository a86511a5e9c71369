import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { apps, limits, me, org as orgQuery } from "../api/queries";
import { Moment } from "../format/time";
import { may, roleAbout, roles } from "../org/rights";
import { currentDeveloper, updateDeveloper, useDeveloper } from "../session/session";
import { Button, buttonClass } from "../ui/button";
import { Confirm, Dialog } from "../ui/dialog";
import { Form, Submit, TextField, text } from "../ui/form";
import { Card, Empty, PageHead, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { toast } from "../ui/toast";
import { Invites } from "./org-invites";
import { MailSettings } from "./org-mail";
import { Members } from "./org-members";

const freshEveryMs = 15_000; // others change it, too

/** Asks who one is now, since joining and leaving change the apps, limits and rights that one has. */
export function useMembershipChanged() {
  const client = useQueryClient();
  return async () => {
    updateDeveloper(await client.fetchQuery({ ...me, staleTime: 0 }));
    client.removeQueries({ queryKey: orgQuery.queryKey });
    for (const { queryKey } of [apps, limits]) void client.invalidateQueries({ queryKey });
  };
}

export function Organization() {
  const fresh = useQuery({ ...me, refetchOnMount: "always", refetchInterval: freshEveryMs }); // somebody may have added or removed us since the session began
  const { data } = fresh;
  useEffect(() => {
    const known = currentDeveloper();
    if (data && known && (data.org_id !== known.org_id || data.plan !== known.plan)) updateDeveloper(data);
  }, [data]);
  return (
    <Loaded query={fresh} lines={6}>
      {(developer) => (developer.org_id ? <Joined /> : <Alone developer={developer} />)}
    </Loaded>
  );
}

function Alone({ developer }: { developer: Schemas["Developer"] }) {
  const changed = useMembershipChanged();
  const enterprise = developer.plan === "enterprise";
  return (
    <>
      <PageHead
        title="Organization"
        about="People who share apps, keys, usage and one plan, each with a role of their own."
      />
      {enterprise ? (
        <Card title="Create an organization" about="You own it, and its apps have the Enterprise limits.">
          <Form
            label="Create an organization"
            className="max-w-md"
            onSubmit={async (data) => {
              await ask(api.POST("/dev/org", { body: { name: text(data, "name").trim() } }));
              await changed();
              toast("good", "The organization is there. Invite who belongs to it.");
            }}
          >
            <TextField label="Name" name="name" required maxLength={120} placeholder="Analytical Engines" />
            <Submit>Create organization</Submit>
          </Form>
        </Card>
      ) : (
        <Empty
          icon="people"
          title="Organizations come with the Enterprise plan"
          action={
            <Link to="/billing" className={buttonClass("primary")}>
              Compare the plans
            </Link>
          }
        >
          You have the <span className="capitalize">{developer.plan}</span> plan. To join an organization that
          exists you need no plan of your own: open the link of your invite.
        </Empty>
      )}
      <div className="mt-4">
        <RoleTable />
      </div>
    </>
  );
}

function RoleTable() {
  return (
    <Card title="Roles">
      <Table label="Roles" head={["Role", "May do"]}>
        {roles.map((r) => (
          <tr key={r}>
            <td className="font-medium capitalize">{r}</td>
            <td className="text-muted">{roleAbout[r]}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Joined() {
  const org = useQuery({ ...orgQuery, refetchOnMount: "always", refetchInterval: freshEveryMs });
  return (
    <Loaded query={org} lines={8}>
      {(data) => <Details org={data} />}
    </Loaded>
  );
}

function Details({ org }: { org: Schemas["OrgDetail"] }) {
  const [open, setOpen] = useState<"rename" | "leave">();
  const manages = may(org.role, "manage");
  return (
    <>
      <PageHead
        title={org.name}
        about={
          <span className="flex flex-wrap items-center gap-2">
            <Tag tint="accent">
              <span className="capitalize">{org.plan}</span>
            </Tag>
            <span>
              You are {org.role} here. Since <Moment at={org.created_at} />.
            </span>
          </span>
        }
      >
        {manages && <Button onClick={() => setOpen("rename")}>Rename</Button>}
        {may(org.role, "readAudit") && (
          <Link to="/audit" search={{ scope: "organization" }} className={buttonClass()}>
            Audit log
          </Link>
        )}
        <Button look="danger" onClick={() => setOpen("leave")}>
          Leave
        </Button>
      </PageHead>
      <div className="flex flex-col gap-4">
        <Members org={org} />
        {manages && <Invites org={org} />}
        {manages && <MailSettings />}
        <RoleTable />
      </div>
      {open === "rename" && <Rename org={org} onClose={() => setOpen(undefined)} />}
      {open === "leave" && <Leave org={org} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function Rename({ org, onClose }: { org: Schemas["OrgDetail"]; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <Dialog title="Rename the organization" onClose={onClose}>
      <Form
        label="Rename the organization"
        onSubmit={async (data) => {
          const fresh = await ask(api.PUT("/dev/org", { body: { name: text(data, "name").trim() } }));
          client.setQueryData(orgQuery.queryKey, fresh);
          onClose();
          toast("good", `It is called ${fresh.name} now.`);
        }}
      >
        <TextField label="Name" name="name" required maxLength={120} defaultValue={org.name} />
        <Submit>Rename</Submit>
      </Form>
    </Dialog>
  );
}

function Leave({ org, onClose }: { org: Schemas["OrgDetail"]; onClose: () => void }) {
  const developer = useDeveloper();
  const changed = useMembershipChanged();
  const leave = useMutation({
    mutationFn: () =>
      ask(api.DELETE("/dev/org/member/{dev_id}", { params: { path: { dev_id: developer?.id ?? "" } } })),
    onSuccess: async () => {
      onClose();
      await changed();
      toast("good", `You have left ${org.name}.`);
    },
  });
  return (
    <Confirm
      title={`Leave ${org.name}?`}
      action="Leave"
      busy={leave.isPending}
      problem={leave.error ? asFailure(leave.error).message : undefined}
      onConfirm={() => leave.mutate()}
      onClose={onClose}
    >
      You no longer see its apps, keys and usage, at once. They stay with the organization.
    </Confirm>
  );
}
