import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import type { Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { app as appQuery } from "../api/queries";
import { CopyButton } from "../ui/button";
import { Failed, PageHead, Skeleton, Tag } from "../ui/layout";

const tabs = [
  { to: "/apps/$appId", label: "Keys" },
  { to: "/apps/$appId/usage", label: "Usage" },
  { to: "/apps/$appId/log", label: "Log" },
  { to: "/apps/$appId/scope", label: "Scope" },
  { to: "/apps/$appId/settings", label: "Settings" },
] as const;

// Not read from the cache: that is emptied when the session ends, a moment before its pages go.
const Shown = createContext<Schemas["AppDetail"] | undefined>(undefined);

/** The frame of an app's pages. */
export function AppPage() {
  const { appId } = useParams({ strict: false }) as { appId: string };
  const app = useQuery(appQuery(appId));
  if (app.isError && !app.data)
    return (
      <>
        <PageHead title="App" />
        <Failed failure={asFailure(app.error)} onRetry={() => void app.refetch()} />
        <p className="mt-4">
          <Link to="/apps" className="text-accent underline">
            All apps
          </Link>
        </p>
      </>
    );
  return (
    <>
      <p className="mb-1 text-sm">
        <Link to="/apps" className="text-muted hover:underline">
          Apps and keys
        </Link>
      </p>
      <PageHead
        title={app.data?.name ?? "App"}
        about={
          app.data && (
            <span className="flex flex-wrap items-center gap-2">
              <Tag tint={app.data.environment === "live" ? "accent" : "plain"}>{app.data.environment}</Tag>
              <Tag tint={app.data.active ? "good" : "bad"}>{app.data.active ? "active" : "switched off"}</Tag>
              {app.data.description}
            </span>
          )
        }
      >
        <CopyButton text={appId} label="Copy app id" />
      </PageHead>
      <nav aria-label="App" className="mb-5 flex overflow-x-auto border-b border-line sm:gap-1">
        {tabs.map((t) => (
          <Link
            key={t.to}
            to={t.to}
            params={{ appId }}
            activeOptions={{ exact: true }}
            className="border-b-2 border-transparent px-2.5 py-2 text-muted hover:text-ink sm:px-4"
            activeProps={{ className: "!border-accent !text-accent font-medium" }}
          >
            {t.label}
          </Link>
        ))}
      </nav>
      {app.data ? (
        <Shown value={app.data}>
          <Outlet />
        </Shown>
      ) : (
        <Skeleton lines={6} />
      )}
    </>
  );
}

/** The app that the frame has loaded. */
export function useApp() {
  const app = useContext(Shown);
  if (!app) throw new Error("the app is not loaded"); // the frame shows its pages with data only
  return app;
}
