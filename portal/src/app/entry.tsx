import { Outlet } from "@tanstack/react-router";
import { Offline } from "./errors";

/** The frame of the pages before a session. */
export function Entry() {
  return (
    <div className="flex min-h-dvh flex-col">
      <Offline />
      <header className="flex items-center justify-between px-5 py-4">
        <a href="#/" className="flex items-center gap-2 font-semibold">
          <img src="/dev/icon.svg" alt="" className="size-7" />
          Modelgate
        </a>
        <nav aria-label="Documentation" className="flex gap-4">
          <a className="text-muted underline-offset-4 hover:underline" href="/dev/docs-page">
            Docs
          </a>
          <a className="text-muted underline-offset-4 hover:underline" href="/dev/openapi">
            API
          </a>
        </nav>
      </header>
      <main className="mx-auto flex w-full max-w-md grow flex-col justify-center px-4 pb-24">
        <Outlet />
      </main>
    </div>
  );
}
