import { guideTitles } from "virtual:guide-titles";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { apps } from "../api/queries";
import { Dialog } from "../ui/dialog";
import { Icon, type IconName } from "../ui/icon";
import { chooseTheme } from "../ui/theme";
import { matching } from "./matching";
import { documents, places } from "./places";
import { signOut } from "./signout";

interface Entry {
  id: string;
  label: string;
  kind: string;
  icon: IconName;
  go: () => void;
}

const mostShown = 12;

/** Finds pages, apps and actions by some of their letters. Arrow keys choose, Enter goes. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { data: known } = useQuery(apps);
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();

  const entries = useMemo<Entry[]>(
    () => [
      ...places.flatMap((g) =>
        g.places.map((p) => ({
          id: p.to,
          label: p.label,
          kind: "Page",
          icon: p.icon,
          go: () => void navigate({ to: p.to }),
        })),
      ),
      {
        id: "/settings",
        label: "Settings",
        kind: "Page",
        icon: "gear" as const,
        go: () => void navigate({ to: "/settings" }),
      },
      ...documents.map((d) => ({
        id: d.href,
        label: d.label,
        kind: "Page",
        icon: d.icon,
        go: () => location.assign(d.href),
      })),
      ...guideTitles.map((g) => ({
        id: `guide-${g.id}`,
        label: g.title,
        kind: "Guide",
        icon: "book" as const,
        go: () => location.assign(`/dev/docs-page#${g.id}`),
      })),
      ...(known ?? []).map((a) => ({
        id: a.app_id,
        label: a.name,
        kind: "App",
        icon: "apps" as const,
        go: () => void navigate({ to: "/apps/$appId", params: { appId: a.app_id } }),
      })),
      ...(["light", "dark", "system"] as const).map((t) => ({
        id: t,
        label: `Theme: ${t}`,
        kind: "Action",
        icon: t === "dark" ? ("moon" as const) : ("sun" as const),
        go: () => chooseTheme(t),
      })),
      { id: "out", label: "Sign out", kind: "Action", icon: "user" as const, go: () => void signOut() },
    ],
    [known, navigate],
  );
  const found = matching(entries, wanted, (e) => e.label).slice(0, mostShown);
  const chosen = Math.min(at, found.length - 1);
  const go = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.go();
  };

  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        aria-label="Page, app or action"
        placeholder="Page, app or action"
        className="field"
        autoComplete="off"
        spellCheck={false}
        value={wanted}
        onChange={(event) => {
          setWanted(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (event.key === "Enter") go(found[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Found" className="mt-2 max-h-80 overflow-y-auto">
        {found.map((e, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's, as a combobox has it
          <div
            key={e.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            className="flex items-center gap-3 rounded-lg px-3 py-2 aria-selected:bg-wash aria-selected:text-accent"
            onPointerMove={() => setAt(i)}
            onClick={() => go(e)}
          >
            <Icon name={e.icon} />
            <span className="truncate">{e.label}</span>
            <span className="ml-auto text-sm text-muted">{e.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="p-3 text-muted">Nothing has that name.</p>}
    </Dialog>
  );
}
