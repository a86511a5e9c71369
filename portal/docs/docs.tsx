import { guides } from "virtual:guides";
import { StrictMode, useDeferredValue, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { applyTheme } from "../src/ui/theme";
import { finder } from "./search";
import "../src/ui/style.css";
import "./docs.css";

const gateway = document.querySelector<HTMLMetaElement>("meta[name=modelgate-gateway]")?.content ?? "";
const find = finder(guides);

// Addresses in the guides are this installation's.
const addresses: Record<string, string> = {
  portal: location.origin,
  gateway: gateway.startsWith("http") ? gateway : location.origin,
  darwin: "the gateway's second host",
};

function here(html: string): string {
  return html.replaceAll(
    /(?:\{\{|%7B%7B)(\w+)(?:\}\}|%7D%7D)/g,
    (all, name: string) => addresses[name] ?? all,
  );
}

const read = () => decodeURIComponent(location.hash.replace(/^#\/?/, ""));

function useHash(): string {
  const [hash, setHash] = useState(read);
  useEffect(() => {
    const changed = () => setHash(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return hash;
}

function Docs() {
  const hash = useHash();
  const [wanted, setWanted] = useState("");
  const sought = useDeferredValue(wanted);
  const guide = guides.find((g) => g.id === hash.split("/")[0]) ?? guides[0];
  const html = useMemo(() => here(guide?.sections.map((s) => s.html).join("\n") ?? ""), [guide]);
  useEffect(() => {
    document.title = `${guide?.title ?? "Documentation"} · Modelgate`;
    const place = document.getElementById(hash);
    if (place) place.scrollIntoView();
    else scrollTo(0, 0);
  }, [hash, guide]);
  const results = sought.trim() ? find(sought) : [];
  return (
    <div className="mx-auto grid max-w-6xl gap-x-10 gap-y-4 p-4 sm:p-6 md:grid-cols-[15rem_minmax(0,1fr)]">
      <header className="flex flex-wrap items-center justify-between gap-3 md:col-span-2">
        <p className="font-semibold">Modelgate documentation</p>
        <nav aria-label="Elsewhere" className="flex gap-4">
          <a className="text-accent underline" href="/dev/">
            Portal
          </a>
          <a className="text-accent underline" href="/dev/openapi">
            API reference
          </a>
        </nav>
      </header>
      <div className="flex flex-col gap-3">
        <search>
          <input
            className="field"
            type="search"
            aria-label="Search the documentation"
            placeholder="Search"
            value={wanted}
            onChange={(e) => setWanted(e.target.value)}
          />
        </search>
        {sought.trim() ? (
          <nav aria-label="Found">
            <p role="status" className="mb-1 text-sm text-muted">
              {results.length === 0 ? "Nothing was found." : `${results.length} found`}
            </p>
            <ul className="flex flex-col gap-1">
              {results.map((s) => (
                <li key={s.id}>
                  <a className="block rounded-md px-2 py-1 hover:bg-sunken" href={`#${s.id}`}>
                    {s.title}
                    <span className="block text-sm text-muted">
                      {guides.find((g) => g.id === s.guide)?.title}
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        ) : (
          <nav aria-label="Guides">
            <ul className="flex flex-wrap gap-1 md:flex-col">
              {guides.map((g) => (
                <li key={g.id}>
                  <a
                    className="block rounded-md px-2 py-1 hover:bg-sunken aria-[current]:bg-wash aria-[current]:text-accent"
                    href={`#${g.id}`}
                    {...(g === guide ? { "aria-current": "page" as const } : {})}
                  >
                    {g.title}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
      </div>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: our own guides, rendered when the bundle was built */}
      <main className="prose min-w-0 pb-16" dangerouslySetInnerHTML={{ __html: html }} />
    </div>
  );
}

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no place to show itself");
createRoot(root).render(
  <StrictMode>
    <Docs />
  </StrictMode>,
);
