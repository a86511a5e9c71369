import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { billingConfig, billingState, type Scope } from "../api/queries";
import { money } from "../format/money";
import { Moment } from "../format/time";
import { useDeveloper } from "../session/session";
import { Button } from "../ui/button";
import { Card, Empty, Failed, Notice, PageHead, Skeleton, Tag, type Tint } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { Alerts } from "./billing-alerts";
import { Invoices } from "./billing-invoices";
import { Plans } from "./billing-plans";
import { Returned } from "./billing-return";

type Mode = Schemas["BillingConfig"]["mode"];

const modes: Record<Mode, { tint: Tint; text: string }> = {
  off: { tint: "plain", text: "not set up" },
  simulated: { tint: "warn", text: "simulated: nobody pays" },
  test: { tint: "warn", text: "test mode: no money moves" },
  live: { tint: "good", text: "live" },
};

/** What is paid, for oneself or for the organization. */
export function Billing() {
  const { scope = "account", session_id } = useSearch({ from: "/console/billing" });
  const navigate = useNavigate();
  const config = useQuery(billingConfig);
  const mode = config.data?.mode;
  return (
    <>
      <PageHead title="Billing" about="Your plan, what it costs and what was paid.">
        {mode && <Tag tint={modes[mode].tint}>{modes[mode].text}</Tag>}
      </PageHead>
      <div className="flex flex-col gap-4">
        <ScopePicker
          scope={scope}
          onChange={(s) => void navigate({ to: "/billing", search: s === "account" ? {} : { scope: s } })}
        />
        {config.isError && <Failed failure={asFailure(config.error)} onRetry={() => void config.refetch()} />}
        {config.isPending && <Skeleton lines={6} />}
        {config.data?.mode === "off" && (
          <Empty icon="alert" title="Plans cannot be bought here yet">
            An operator has to set <code className="font-mono">stripe_secret_key</code> and{" "}
            <code className="font-mono">stripe_webhook_secret</code>. Your plan and its limits hold as they
            are.
          </Empty>
        )}
        {config.data && config.data.mode !== "off" && (
          <>
            {session_id && <Returned session={session_id} />}
            <Account scope={scope} plans={config.data.plans} />
            <Invoices scope={scope} />
          </>
        )}
        {config.data?.mode === "off" && <Plans plans={config.data.plans} scope={scope} />}
        {config.data && <Alerts scope={scope} />}
      </div>
    </>
  );
}

function ScopePicker({ scope, onChange }: { scope: Scope; onChange: (s: Scope) => void }) {
  const developer = useDeveloper();
  const org = useQuery({
    enabled: Boolean(developer?.org_id),
    queryKey: ["org", "name"],
    queryFn: () => ask(api.GET("/dev/org")),
    retry: false,
    staleTime: 60_000,
  });
  if (!org.data) return null;
  return (
    <fieldset className="flex flex-wrap gap-2">
      <legend className="sr-only">Who is billed</legend>
      {(["account", "organization"] as const).map((s) => (
        <Button
          key={s}
          look={s === scope ? "primary" : "plain"}
          aria-pressed={s === scope}
          onClick={() => onChange(s)}
        >
          {s === "account" ? "Yourself" : org.data.name}
        </Button>
      ))}
    </fieldset>
  );
}

function Account({ scope, plans }: { scope: Scope; plans: Schemas["PricedPlan"][] }) {
  const state = useQuery(billingState(scope));
  return (
    <Loaded query={state} lines={6}>
      {(s) => (
        <>
          <Warnings state={s} />
          <Current state={s} scope={scope} plans={plans} />
          {s.over_limit && <OverLimit over={s.over_limit} scope={scope} />}
          <Plans plans={plans} scope={scope} state={s} />
        </>
      )}
    </Loaded>
  );
}

function Warnings({ state }: { state: Schemas["BillingState"] }) {
  const sub = state.subscription;
  return (
    <>
      {sub?.status === "past_due" && (
        <Notice tint="bad">
          The last payment failed. Change the card in the billing portal
          {sub.grace_ends_at ? (
            <>
              {" "}
              before <Moment at={sub.grace_ends_at} />: then the plan becomes Free.
            </>
          ) : (
            "."
          )}
        </Notice>
      )}
      {sub?.status === "processing" && (
        <Notice tint="warn">
          Your bank has not said yet whether it pays, which may take days. The plan begins when it does.
        </Notice>
      )}
      {sub?.plan === "" && (
        <Notice tint="warn">
          The subscription has a price that belongs to no plan, so it changes nothing here. Ask an operator.
        </Notice>
      )}
      {(sub?.status === "unpaid" || sub?.status === "paused") && (
        <Notice tint="bad">The subscription is {sub.status}, so the Free plan is in force.</Notice>
      )}
      {state.disputed_at && (
        <Notice tint="warn">
          A payment was disputed on <Moment at={state.disputed_at} />. The plan stays until that is settled.
        </Notice>
      )}
    </>
  );
}

function Current({
  state,
  scope,
  plans,
}: {
  state: Schemas["BillingState"];
  scope: Scope;
  plans: Schemas["PricedPlan"][];
}) {
  const portal = useMutation({
    mutationFn: () => ask(api.POST("/dev/billing/portal", { params: { query: { scope } } })),
    onSuccess: ({ url }) => location.assign(url),
  });
  const sub = state.subscription;
  const name = plans.find((p) => p.plan.id === state.plan)?.plan.name ?? state.plan;
  const rows: [string, React.ReactNode][] = [["Plan", name]];
  if (sub) {
    rows.push([
      sub.cancel_at_period_end ? "Ends" : "Current period until",
      <Moment key="end" at={sub.period_end} />,
    ]);
    rows.push([
      "Next charge",
      sub.next_amount !== null && sub.currency !== null ? money(sub.next_amount, sub.currency) : "none",
    ]);
    rows.push([
      "Payment method",
      sub.payment_method ? (
        <span key="method" className="capitalize">
          {sub.payment_method}
        </span>
      ) : (
        "none"
      ),
    ]);
  }
  return (
    <Card
      title="In force"
      actions={
        sub && (
          <Button disabled={portal.isPending} onClick={() => portal.mutate()}>
            Open the billing portal
          </Button>
        )
      }
    >
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
        {rows.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
      {!sub && <p className="mt-2 text-sm text-muted">There is no subscription, so nothing is charged.</p>}
      {portal.isError && (
        <div className="mt-3">
          <Failed failure={asFailure(portal.error)} />
        </div>
      )}
    </Card>
  );
}

function OverLimit({ over, scope }: { over: NonNullable<Schemas["OverLimit"]>; scope: Scope }) {
  const queries = useQueryClient();
  const [kept, setKept] = useState(() => over.apps.filter((a) => a.stays).map((a) => a.app_id));
  const keep = useMutation({
    mutationFn: () =>
      ask(api.PUT("/dev/billing/apps", { params: { query: { scope } }, body: { app_ids: kept } })),
    onSuccess: (s) => queries.setQueryData(billingState(scope).queryKey, s),
  });
  return (
    <Card
      title="Too many apps for the plan"
      about={
        <>
          It has room for {over.allowed}. The keys of the others stop on <Moment at={over.suspend_at} /> and
          work again with a larger plan; nothing is deleted.
        </>
      }
    >
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">Apps to keep</legend>
        {over.apps.map((a) => (
          <label key={a.app_id} className="flex items-center gap-3">
            <input
              type="checkbox"
              checked={kept.includes(a.app_id)}
              disabled={!kept.includes(a.app_id) && kept.length >= over.allowed}
              onChange={(e) =>
                setKept(e.target.checked ? [...kept, a.app_id] : kept.filter((id) => id !== a.app_id))
              }
            />
            <span className="min-w-0 break-words">{a.name}</span>
            {a.suspended && <Tag tint="bad">suspended</Tag>}
          </label>
        ))}
      </fieldset>
      <div className="mt-4 flex flex-col gap-3">
        {keep.isError && <Failed failure={asFailure(keep.error)} />}
        <div>
          <Button look="primary" disabled={keep.isPending} onClick={() => keep.mutate()}>
            Keep these
          </Button>
        </div>
      </div>
    </Card>
  );
}
