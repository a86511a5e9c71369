import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, ask, type Schemas } from "../api/client";
import { reached } from "../keys/receipt";
import { buttonClass } from "../ui/button";
import { Notice } from "../ui/layout";
import { Loaded } from "../ui/loaded";

type State = Schemas["CheckoutState"];

const pollEveryMs = 2_000;

/** How the checkout ended from which the browser came back. It is asked again while the payment is under way. */
export function Returned({ session }: { session: string }) {
  const queries = useQueryClient();
  const state = useQuery({
    queryKey: ["checkout", session],
    queryFn: () =>
      ask(api.GET("/dev/billing/verify-session", { params: { query: { session_id: session } } })),
    refetchInterval: ({ state: { data } }) => (data?.status === "processing" ? pollEveryMs : false),
  });
  const active = state.data?.status === "active";
  useEffect(() => {
    if (!active) return;
    for (const key of ["billing", "limits", "me"]) void queries.invalidateQueries({ queryKey: [key] });
  }, [active, queries]);
  return (
    <Loaded query={state} lines={1}>
      {(s) => <Said state={s} />}
    </Loaded>
  );
}

function Said({ state }: { state: State }) {
  const go = (text: string) =>
    state.url && (
      <a href={state.url} className={`${buttonClass("primary")} mt-2`}>
        {text}
      </a>
    );
  switch (state.status) {
    case "active":
      return (
        <Notice tint="good">
          Thank you. The <span className="capitalize">{state.plan}</span> plan is in force{" "}
          {reached(state.receipt).text}.
        </Notice>
      );
    case "processing":
      return <Notice tint="accent">The payment is under way. This page notices when it is done.</Notice>;
    case "requires_action":
      return (
        <Notice tint="warn">
          <p>
            Your bank wants to know that it is you. Until then nothing is charged and the plan stays as it is.
          </p>
          {go("Finish at your bank")}
        </Notice>
      );
    case "payment_failed":
      return (
        <Notice tint="bad">
          <p>The payment failed. Nothing was charged; try another card.</p>
          {go("Try another card")}
        </Notice>
      );
    case "open":
      return (
        <Notice tint="warn">
          <p>The checkout is not finished.</p>
          {go("Go on")}
        </Notice>
      );
    default:
      return <Notice tint="plain">The checkout has expired. Choose a plan to begin again.</Notice>;
  }
}
