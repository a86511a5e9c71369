import { QueryClient, queryOptions } from "@tanstack/react-query";
import { hourly } from "../chart/series";
import { api, ask, type Schemas } from "./client";
import { Failure } from "./failure";

const retries = 2;

/** Only what may pass is tried again: no answer, an overloaded or restarting service. */
export function worthRetrying(count: number, thrown: unknown): boolean {
  const status = thrown instanceof Failure ? thrown.status : -1;
  return count < retries && (status === 0 || status === 502 || status === 503);
}

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: worthRetrying, staleTime: 5_000, networkMode: "always" },
      mutations: { networkMode: "always" },
    },
  });
}

export const me = queryOptions({ queryKey: ["me"], queryFn: () => ask(api.GET("/dev/auth/me")) });

export const catalog = queryOptions({
  queryKey: ["catalog"],
  queryFn: () => ask(api.GET("/dev/catalog")),
  staleTime: 60_000,
});

/** Addresses of this installation. */
export const info = queryOptions({
  queryKey: ["info"],
  queryFn: () => ask(api.GET("/api/developer/info")),
  staleTime: Number.POSITIVE_INFINITY,
});

export const limits = queryOptions({ queryKey: ["limits"], queryFn: () => ask(api.GET("/dev/limits")) });

export const apps = queryOptions({
  queryKey: ["apps"],
  queryFn: async () => (await ask(api.GET("/dev/apps"))).apps,
});

export const app = (id: string) =>
  queryOptions({
    queryKey: ["apps", id],
    queryFn: () => ask(api.GET("/dev/apps/{app_id}", { params: { path: { app_id: id } } })),
  });

/** A usage query of `back` days, in the points that a chart of `days` has. */
const usageQuery = (days: number, back: number) => ({
  days: back,
  bucket: hourly(days) ? ("hour" as const) : ("day" as const),
});

export const appUsage = (id: string, days: number, back = days) =>
  queryOptions({
    queryKey: ["usage", id, days, back],
    queryFn: async () => {
      const query = usageQuery(days, back);
      const answer = await ask(
        api.GET("/dev/apps/{app_id}/usage", { params: { path: { app_id: id }, query } }),
      );
      return answer as Schemas["AppUsage"]; // CSV comes only to who asks for it
    },
  });

export const accountUsage = (days: number, back = days) =>
  queryOptions({
    queryKey: ["usage", "account", days, back],
    queryFn: async () =>
      (await ask(
        api.GET("/dev/usage", { params: { query: usageQuery(days, back) } }),
      )) as Schemas["AccountUsage"], // as above
  });

export const darwinTokens = queryOptions({
  queryKey: ["darwin-tokens"],
  queryFn: async () => (await ask(api.GET("/dev/darwin-tokens"))).tokens,
});

export const imageBuilds = queryOptions({
  queryKey: ["image-builds"],
  queryFn: async () => (await ask(api.GET("/dev/image-builds"))).builds,
});

export const sessions = queryOptions({
  queryKey: ["sessions"],
  queryFn: async () => (await ask(api.GET("/dev/auth/sessions"))).sessions,
});

/** The organization; asked for only by who is in one. */
export const org = queryOptions({ queryKey: ["org"], queryFn: () => ask(api.GET("/dev/org")) });

export const emailConfig = queryOptions({
  queryKey: ["email config"],
  queryFn: () => ask(api.GET("/dev/org/email-config")),
  staleTime: 60_000,
});

export const inviteInfo = (id: string) =>
  queryOptions({
    queryKey: ["invite", id],
    queryFn: () => ask(api.GET("/dev/org/invite-info/{invite_id}", { params: { path: { invite_id: id } } })),
  });

export const account = queryOptions({ queryKey: ["account"], queryFn: () => ask(api.GET("/dev/account")) });

export const totp = queryOptions({ queryKey: ["totp"], queryFn: () => ask(api.GET("/dev/auth/totp")) });

export const demos = queryOptions({
  queryKey: ["demos"],
  queryFn: async () => (await ask(api.GET("/dev/demos"))).demos,
});

/** Who is billed. */
export type Scope = "account" | "organization";

export const billingConfig = queryOptions({
  queryKey: ["billing config"],
  queryFn: () => ask(api.GET("/dev/billing/config")),
  staleTime: 60_000,
});

export const billingState = (scope: Scope) =>
  queryOptions({
    queryKey: ["billing", "state", scope],
    queryFn: () => ask(api.GET("/dev/billing/subscription", { params: { query: { scope } } })),
  });

export const billingInvoices = (scope: Scope) =>
  queryOptions({
    queryKey: ["billing", "invoices", scope],
    queryFn: async () =>
      (await ask(api.GET("/dev/billing/invoices", { params: { query: { scope } } }))).invoices,
  });

const deliveriesEveryMs = 3_000;

/** Who is told of usage. While a notification is on its way it is asked for again. */
export const billingAlerts = (scope: Scope) =>
  queryOptions({
    queryKey: ["billing", "alerts", scope],
    queryFn: () => ask(api.GET("/dev/billing/alerts", { params: { query: { scope } } })),
    refetchInterval: ({ state }) =>
      state.data?.deliveries.some((d) => d.state === "waiting") ? deliveriesEveryMs : false,
  });

/** What a change of plan would cost now. */
export const billingPreview = (
  scope: Scope,
  plan: "starter" | "pro" | "enterprise",
  interval: "month" | "year",
) =>
  queryOptions({
    queryKey: ["billing", "preview", scope, plan, interval],
    queryFn: () => ask(api.GET("/dev/billing/preview", { params: { query: { scope, plan, interval } } })),
    gcTime: 0,
  });
