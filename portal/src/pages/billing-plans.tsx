import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { billingPreview, billingState, type Scope } from "../api/queries";
import { money } from "../format/money";
import { number } from "../format/number";
import { reached } from "../keys/receipt";
import { Button } from "../ui/button";
import { Confirm } from "../ui/dialog";
import { Card, Failed, Notice, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { toast } from "../ui/toast";

type Interval = "month" | "year";
type Bought = "starter" | "pro" | "enterprise";

/** The plans side by side. Without a state nothing can be bought. */
export function Plans({
  plans,
  scope,
  state,
}: {
  plans: Schemas["PricedPlan"][];
  scope: Scope;
  state?: Schemas["BillingState"];
}) {
  const [interval, setInterval] = useState<Interval>(
    state?.subscription?.interval === "year" ? "year" : "month",
  );
  const [asked, setAsked] = useState<Schemas["PricedPlan"]>();
  const checkout = useMutation({
    mutationFn: (plan: Bought) =>
      ask(api.POST("/dev/billing/checkout", { params: { query: { scope } }, body: { plan, interval } })),
    onSuccess: ({ url }) => location.assign(url),
  });
  return (
    <Card
      title="Plans"
      actions={
        <fieldset className="flex gap-2">
          <legend className="sr-only">How often to pay</legend>
          {(["month", "year"] as const).map((i) => (
            <Button
              key={i}
              look={i === interval ? "primary" : "plain"}
              aria-pressed={i === interval}
              onClick={() => setInterval(i)}
            >
              By the {i}
            </Button>
          ))}
        </fieldset>
      }
    >
      <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-4">
        {plans.map((p) => (
          <li key={p.plan.id} className="flex min-w-0 flex-col gap-2 rounded-xl border border-line p-4">
            <p className="flex flex-wrap items-center gap-2 font-semibold">
              {p.plan.name} {state?.plan === p.plan.id && <Tag tint="accent">in force</Tag>}
            </p>
            <p className="text-xl font-semibold tabular-nums">{price(p, interval)}</p>
            <p className="text-sm text-muted">
              {number(p.plan.calls_per_day)} live calls a day, {number(p.plan.rate_per_minute)} a minute and
              key, {p.plan.apps === null ? "any number of apps" : `${number(p.plan.apps)} apps`}.
            </p>
            {state && p.prices.length > 0 && (
              <div className="mt-auto pt-2">
                {state.subscription ? (
                  <Button
                    disabled={
                      state.subscription.plan === p.plan.id && state.subscription.interval === interval
                    }
                    onClick={() => setAsked(p)}
                  >
                    Change to {p.plan.name}
                  </Button>
                ) : (
                  <Button
                    look="primary"
                    disabled={checkout.isPending}
                    onClick={() => checkout.mutate(p.plan.id as Bought)}
                  >
                    Buy {p.plan.name}
                  </Button>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      {checkout.isError && (
        <div className="mt-4">
          <Failed failure={asFailure(checkout.error)} />
        </div>
      )}
      {asked && <Change plan={asked} interval={interval} scope={scope} onClose={() => setAsked(undefined)} />}
    </Card>
  );
}

function price(p: Schemas["PricedPlan"], interval: Interval): string {
  const found = p.prices.find((x) => x.interval === interval);
  return found ? `${money(found.amount, found.currency)} a ${interval}` : "Nothing to pay";
}

/** Shows what a change costs before it is made. */
function Change({
  plan,
  interval,
  scope,
  onClose,
}: {
  plan: Schemas["PricedPlan"];
  interval: Interval;
  scope: Scope;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const id = plan.plan.id as Bought;
  const preview = useQuery(billingPreview(scope, id, interval));
  const change = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/dev/billing/subscription", { params: { query: { scope } }, body: { plan: id, interval } }),
      ),
    onSuccess: (s) => {
      queries.setQueryData(billingState(scope).queryKey, s);
      void queries.invalidateQueries({ queryKey: ["billing"] });
      void queries.invalidateQueries({ queryKey: ["limits"] });
      void queries.invalidateQueries({ queryKey: ["me"] });
      toast("good", `The ${plan.plan.name} plan is in force ${reached(s.receipt).text}.`);
      onClose();
    },
  });
  return (
    <Confirm
      title={`Change to ${plan.plan.name}?`}
      action="Change the plan"
      busy={change.isPending || !preview.data}
      problem={change.isError ? asFailure(change.error).message : undefined}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <Loaded query={preview}>
        {({ due_now, currency, lines }) => (
          <div className="flex flex-col gap-3">
            <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-1">
              {lines.map((l) => (
                <div key={`${l.description} ${l.amount}`} className="contents">
                  <dt>{l.description}</dt>
                  <dd className="text-right tabular-nums">{money(l.amount, currency)}</dd>
                </div>
              ))}
            </dl>
            <Notice tint="accent">
              {due_now >= 0
                ? `${money(due_now, currency)} is charged now.`
                : `${money(-due_now, currency)} is kept as credit for the next invoices.`}
            </Notice>
          </div>
        )}
      </Loaded>
    </Confirm>
  );
}
