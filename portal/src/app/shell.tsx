import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Icon } from "../ui/icon";
import { Offline } from "./errors";
import { documents, places } from "./places";

const Palette = lazy(() => import("./palette"));
const AccountMenu = lazy(() => import("./account-menu"));

const item = "flex items-center gap-3 rounded-lg px-3 py-1.5 text-muted hover:bg-sunken hover:text-ink";

function Places() {
  return (
    <nav aria-label="Pages" className="flex flex-col gap-5">
      {places.map((group) => (
        <div key={group.title}>
          <p className="px-3 pb-1 text-xs font-medium text-muted">{group.title}</p>
          {group.places.map((p) => (
            <Link
              key={p.to}
              to={p.to}
              className={item}
              activeOptions={{ exact: p.to === "/", includeSearch: false }}
              activeProps={{ className: "bg-wash !text-accent font-medium" }}
            >
              <Icon name={p.icon} />
              {p.label}
            </Link>
          ))}
        </div>
      ))}
      <div className="border-t border-line pt-4">
        {documents.map((d) => (
          <a key={d.href} href={d.href} className={item}>
            <Icon name={d.icon} />
            {d.label}
          </a>
        ))}
      </div>
    </nav>
  );
}

/** The frame of the console: where one is, where one can go, and the palette on Ctrl-K. */
export function Shell() {
  const [open, setOpen] = useState(false); // the navigation, where the screen is too narrow to show it always
  const [palette, setPalette] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (s) => s.location.pathname });
  const first = useRef(true);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new path is what this is about
  useEffect(() => {
    setOpen(false);
    if (!first.current) main.current?.focus({ preventScroll: true }); // screen readers go on at the new page
    first.current = false;
  }, [path]);

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setPalette((shown) => !shown);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);

  return (
    <div className="flex min-h-dvh flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-3"
        onClick={() => main.current?.focus()}
      >
        Skip to the page
      </button>
      <Offline />
      <header className="sticky top-0 z-30 flex h-14 items-center gap-3 border-b border-line bg-surface px-3 sm:px-5">
        <button
          type="button"
          className="rounded-lg p-2 lg:hidden"
          aria-expanded={open}
          aria-controls="places"
          aria-label={open ? "Close the navigation" : "Open the navigation"}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} className="size-5" />
        </button>
        <Link to="/" className="flex items-center gap-2 font-semibold">
          <img src="/dev/icon.svg" alt="" className="size-7" />
          <span className="max-sm:sr-only">Modelgate</span>
        </Link>
        <button
          type="button"
          onClick={() => setPalette(true)}
          className="ml-auto flex min-h-9 items-center gap-2 rounded-lg border border-edge px-3 text-muted hover:bg-sunken sm:w-64"
        >
          <Icon name="search" />
          <span className="max-sm:sr-only">Search</span>
          <kbd className="ml-auto font-sans text-xs max-sm:hidden">Ctrl K</kbd>
        </button>
        <Suspense fallback={<span className="size-9" />}>
          <AccountMenu />
        </Suspense>
      </header>
      <div className="flex min-w-0 grow">
        <div
          id="places"
          className={`${open ? "fixed inset-x-0 top-14 bottom-0 z-20 block overflow-y-auto" : "hidden"} border-r border-line bg-surface p-3 lg:sticky lg:top-14 lg:block lg:h-[calc(100dvh-3.5rem)] lg:w-60 lg:shrink-0 lg:overflow-y-auto`}
        >
          <Places />
        </div>
        <main ref={main} id="main" tabIndex={-1} className="min-w-0 grow p-4 sm:p-6 lg:p-8">
          <div className="mx-auto max-w-6xl">
            <Outlet />
          </div>
        </main>
      </div>
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  );
}
