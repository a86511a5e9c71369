import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Button, buttonClass } from "../ui/button";
import { Icon } from "../ui/icon";

export function NotFound() {
  useEffect(() => {
    document.title = "Not found · Modelgate";
  }, []);
  return (
    <div className="mx-auto max-w-md px-4 py-20 text-center">
      <p className="font-mono text-muted">404</p>
      <h1 className="mt-1 text-2xl font-semibold">There is no such page</h1>
      <p className="mt-2 text-muted">The address may be mistyped, or what it named is gone.</p>
      <Link to="/" className={`mt-6 ${buttonClass("primary")}`}>
        To the overview
      </Link>
    </div>
  );
}

/** A page that could not be shown. A chunk that is gone means that a newer portal was installed: loading again brings it. */
export function Broken({ error, reset }: ErrorComponentProps) {
  const message = error instanceof Error ? error.message : String(error);
  const stale = /dynamically imported module|module script/i.test(message);
  useEffect(() => {
    document.title = "Something broke · Modelgate";
  }, []);
  return (
    <div role="alert" className="mx-auto max-w-lg px-4 py-20 text-center">
      <p className="font-mono text-muted">{stale ? "Not loaded" : "Error"}</p>
      <h1 className="mt-1 text-2xl font-semibold">
        {stale ? "This page could not be loaded" : "This page broke"}
      </h1>
      <p className="mt-2 text-muted">
        {stale
          ? "The portal was updated, or the connection is gone. Load it again."
          : `It is our fault, not yours: ${message}`}
      </p>
      <div className="mt-6 flex justify-center gap-2">
        <Button look="primary" onClick={() => (stale ? location.reload() : reset())}>
          {stale ? "Load again" : "Try again"}
        </Button>
        <Link to="/" className={buttonClass()}>
          To the overview
        </Link>
      </div>
    </div>
  );
}

/** Says that the browser has no network, for as long as that is so. */
export function Offline() {
  const [offline, setOffline] = useState(!navigator.onLine);
  useEffect(() => {
    const look = () => setOffline(!navigator.onLine);
    window.addEventListener("online", look);
    window.addEventListener("offline", look);
    return () => {
      window.removeEventListener("online", look);
      window.removeEventListener("offline", look);
    };
  }, []);
  if (!offline) return null;
  return (
    <div role="status" className="flex items-center justify-center gap-2 bg-warn-wash px-4 py-2 text-warn">
      <Icon name="alert" />
      You are offline. What is shown may be old; what you typed is kept.
    </div>
  );
}
