import { useNavigate, useSearch } from "@tanstack/react-router";
import { Tabs } from "radix-ui";
import { asFailure } from "../api/failure";
import { Failed, PageHead, Skeleton } from "../ui/layout";
import { chosenKey, KeyPicker, type UsableKey, useUsableKeys } from "./key-picker";
import { Chat } from "./playground-chat";
import { ToolGroup } from "./playground-tool";
import { groups } from "./playground-tools";

export function Playground() {
  const { keys, error } = useUsableKeys();
  return (
    <>
      <PageHead
        title="Playground"
        about="Test calls with one of your keys, whose value stays on the server, or without one. They are counted and limited like any call of yours."
      />
      {error ? <Failed failure={asFailure(error)} /> : !keys ? <Skeleton lines={8} /> : <Bench keys={keys} />}
    </>
  );
}

const tabClass =
  "rounded-md px-3 py-1.5 text-muted hover:bg-sunken data-[state=active]:bg-wash data-[state=active]:font-medium data-[state=active]:text-accent";

const noKey = "none"; // in the address

// What is tried, and with which key, is in the address.
function Bench({ keys }: { keys: UsableKey[] }) {
  const search = useSearch({ from: "/console/playground" });
  const navigate = useNavigate();
  const chosen = search.key === noKey ? undefined : chosenKey(keys, search);
  const mode = groups.some((g) => g.id === search.mode) ? (search.mode ?? "chat") : "chat";
  const go = (to: { app?: string; key?: string; mode?: string }) =>
    void navigate({ to: "/playground", search: { ...search, ...to }, replace: true });
  return (
    <Tabs.Root value={mode} onValueChange={(m) => go({ mode: m })} className="flex flex-col gap-4">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <Tabs.List aria-label="What to try" className="flex flex-wrap gap-1">
          <Tabs.Trigger value="chat" className={tabClass}>
            Chat
          </Tabs.Trigger>
          {groups.map((g) => (
            <Tabs.Trigger key={g.id} value={g.id} className={tabClass}>
              {g.label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <div className="w-full sm:w-72">
          <KeyPicker
            keys={keys}
            chosen={chosen}
            onChange={(k) => go({ app: k.app.app_id, key: k.key.key_id })}
            onNone={() => go({ key: noKey })}
          />
        </div>
      </div>
      <Tabs.Content value="chat">
        <Chat chosen={chosen} />
      </Tabs.Content>
      {groups.map((g) => (
        <Tabs.Content key={g.id} value={g.id}>
          <ToolGroup group={g} chosen={chosen} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
