import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { currentDeveloper } from "../session/session";
import { Skeleton } from "../ui/layout";
import { Broken, NotFound } from "./errors";
import { withAudit, withLog, withUsage } from "./searches";
import { Shell } from "./shell";

const root = createRootRoute({ component: Outlet });

// Links in mails carry a token; the pages take it out of the address at once.
const withToken = (search: Record<string, unknown>) => ({ token: String(search.token ?? "") });
const withNext = (search: Record<string, unknown>): { next?: string } =>
  typeof search.next === "string" && /^\/[^/\\]/.test(search.next) ? { next: search.next } : {};

const entry = createRoute({
  getParentRoute: () => root,
  id: "entry",
  component: lazyRouteComponent(() => import("./entry"), "Entry"),
});

/** Somebody who is signed in has no business at sign-in. */
function signedOut({ search }: { search: { next?: string } }): void {
  if (currentDeveloper()) throw redirect({ href: search.next ?? "/" });
}

const account = () => import("../pages/account");
const mail = () => import("../pages/mail");

const entryRoutes = [
  createRoute({
    getParentRoute: () => entry,
    path: "/sign-in",
    validateSearch: withNext,
    beforeLoad: signedOut,
    component: lazyRouteComponent(account, "SignIn"),
  }),
  createRoute({
    getParentRoute: () => entry,
    path: "/sign-up",
    validateSearch: withNext,
    beforeLoad: signedOut,
    component: lazyRouteComponent(account, "SignUp"),
  }),
  createRoute({
    getParentRoute: () => entry,
    path: "/forgot-password",
    component: lazyRouteComponent(mail, "ForgotPassword"),
  }),
  createRoute({
    getParentRoute: () => entry,
    path: "/reset-password",
    validateSearch: withToken,
    component: lazyRouteComponent(mail, "ResetPassword"),
  }),
  createRoute({
    getParentRoute: () => entry,
    path: "/verify-email",
    validateSearch: withToken,
    component: lazyRouteComponent(mail, "VerifyEmail"),
  }),
  createRoute({
    getParentRoute: () => entry,
    path: "/invite",
    validateSearch: withToken,
    component: lazyRouteComponent(() => import("../pages/invite"), "InviteLanding"),
  }),
];

const console = createRoute({
  getParentRoute: () => root,
  id: "console",
  component: Shell,
  beforeLoad: ({ location }) => {
    if (currentDeveloper()) return;
    throw redirect({ to: "/sign-in", search: location.href === "/" ? {} : { next: location.href } });
  },
});

const appPages = () => import("../pages/app");

const app = createRoute({
  getParentRoute: () => console,
  path: "/apps/$appId",
  component: lazyRouteComponent(appPages, "AppPage"),
});

const withKey = (search: Record<string, unknown>): { app?: string; key?: string } => ({
  ...(typeof search.app === "string" ? { app: search.app } : {}),
  ...(typeof search.key === "string" ? { key: search.key } : {}),
});

/** session_id comes from the payment processor, when the browser returns from its checkout. */
const withBilling = (
  search: Record<string, unknown>,
): { scope?: "account" | "organization"; session_id?: string } => ({
  ...(search.scope === "organization" ? { scope: "organization" as const } : {}),
  ...(typeof search.session_id === "string" ? { session_id: search.session_id } : {}),
});

const consoleRoutes = [
  createRoute({
    getParentRoute: () => console,
    path: "/",
    component: lazyRouteComponent(() => import("../pages/overview"), "Overview"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/apps",
    component: lazyRouteComponent(() => import("../pages/apps"), "Apps"),
  }),
  app.addChildren([
    createRoute({
      getParentRoute: () => app,
      path: "/",
      component: lazyRouteComponent(() => import("../pages/app-keys"), "AppKeys"),
    }),
    createRoute({
      getParentRoute: () => app,
      path: "/usage",
      component: lazyRouteComponent(() => import("../pages/app-usage"), "AppUsage"),
    }),
    createRoute({
      getParentRoute: () => app,
      path: "/scope",
      component: lazyRouteComponent(() => import("../pages/app-scope"), "AppScope"),
    }),
    createRoute({
      getParentRoute: () => app,
      path: "/log",
      validateSearch: withLog,
      component: lazyRouteComponent(() => import("../pages/log"), "AppLog"),
    }),
    createRoute({
      getParentRoute: () => app,
      path: "/settings",
      component: lazyRouteComponent(() => import("../pages/app-settings"), "AppSettings"),
    }),
  ]),
  createRoute({
    getParentRoute: () => console,
    path: "/darwin-tokens",
    component: lazyRouteComponent(() => import("../pages/tokens"), "DarwinTokens"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/usage",
    validateSearch: withUsage,
    component: lazyRouteComponent(() => import("../pages/usage"), "Usage"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/log",
    validateSearch: withLog,
    component: lazyRouteComponent(() => import("../pages/log"), "Log"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/limits",
    validateSearch: withKey,
    component: lazyRouteComponent(() => import("../pages/limits"), "Limits"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/billing",
    validateSearch: withBilling,
    component: lazyRouteComponent(() => import("../pages/billing"), "Billing"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/playground",
    validateSearch: (search: Record<string, unknown>): { app?: string; key?: string; mode?: string } => ({
      ...withKey(search),
      ...(typeof search.mode === "string" ? { mode: search.mode } : {}),
    }),
    component: lazyRouteComponent(() => import("../pages/playground"), "Playground"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/demos",
    component: lazyRouteComponent(() => import("../pages/demos"), "Demos"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/demos/$demoId",
    validateSearch: withKey,
    component: lazyRouteComponent(() => import("../pages/demos"), "DemoPage"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/models",
    component: lazyRouteComponent(() => import("../pages/models"), "Models"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/images",
    component: lazyRouteComponent(() => import("../pages/images"), "Images"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/organization",
    component: lazyRouteComponent(() => import("../pages/org"), "Organization"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/audit",
    validateSearch: withAudit,
    component: lazyRouteComponent(() => import("../pages/audit"), "Audit"),
  }),
  createRoute({
    getParentRoute: () => console,
    path: "/settings",
    component: lazyRouteComponent(() => import("../pages/settings"), "Settings"),
  }),
];

/** The pages of the portal. They are addressed behind the #, because the paths below /dev/ are operations of the API. */
export function newRouter() {
  return createRouter({
    routeTree: root.addChildren([entry.addChildren(entryRoutes), console.addChildren(consoleRoutes)]),
    history: createHashHistory(),
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultPendingComponent: () => <Skeleton lines={6} className="p-2" />,
    defaultErrorComponent: Broken,
    defaultNotFoundComponent: NotFound,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}
