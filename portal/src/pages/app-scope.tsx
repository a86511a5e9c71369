import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { app as appQuery, apps as appsQuery, catalog as catalogQuery } from "../api/queries";
import { reached } from "../keys/receipt";
import { Button } from "../ui/button";
import { Card, Failed, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { toast } from "../ui/toast";
import { useApp } from "./app";
import { allowedTasks, lets, type Scope, switched, taskIDs } from "./scope";

export function AppScope() {
  const app = useApp();
  const catalog = useQuery(catalogQuery);
  return (
    <Loaded query={catalog} lines={8}>
      {({ families }) => <Editor key={app.updated_at} app={app} families={families} />}
    </Loaded>
  );
}

function Editor({ app, families }: { app: Schemas["AppDetail"]; families: Schemas["CatalogFamily"][] }) {
  const client = useQueryClient();
  const [scope, setScope] = useState<Scope>({ families: app.families, tasks: app.tasks });
  const changed = scope.families.join() !== app.families.join() || scope.tasks.join() !== app.tasks.join();
  const save = useMutation({
    mutationFn: () =>
      ask(
        api.PUT("/dev/apps/{app_id}", {
          params: { path: { app_id: app.app_id } },
          body: scope as Schemas["UpdateAppRequest"],
        }),
      ),
    onSuccess: (fresh) => {
      client.setQueryData(appQuery(app.app_id).queryKey, (old) => (old ? { ...old, ...fresh } : old));
      void client.invalidateQueries({ queryKey: appsQuery.queryKey, exact: true });
      toast("good", `The scope is saved ${reached(fresh.receipt).text}.`);
    },
  });
  return (
    <Card
      title="Scope"
      about="What the app's keys may use: a call needs both its family and its task. A task is allowed for all families that have it."
      actions={
        <>
          <Button
            disabled={!changed || save.isPending}
            onClick={() => setScope({ families: app.families, tasks: app.tasks })}
          >
            Undo
          </Button>
          <Button look="primary" disabled={!changed || save.isPending} onClick={() => save.mutate()}>
            Save scope
          </Button>
        </>
      }
    >
      {save.isError && <Failed failure={asFailure(save.error)} />}
      <div className="mb-4 flex flex-col gap-2 sm:flex-row sm:gap-6">
        <All
          label="All families, those of the future too"
          on={scope.families.length === 0}
          onChange={(on) => setScope({ ...scope, families: on ? [] : families.map((f) => f.id) })}
        />
        <All
          label="All tasks, those of the future too"
          on={scope.tasks.length === 0}
          onChange={(on) => setScope({ ...scope, tasks: on ? [] : taskIDs(families) })}
        />
      </div>
      <ul aria-label="Families" className="flex flex-col gap-3">
        {families.map((f) => (
          <Family key={f.id} family={f} families={families} scope={scope} onChange={setScope} />
        ))}
      </ul>
    </Card>
  );
}

function All({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="flex min-h-6 items-center gap-2">
      <input
        type="checkbox"
        className="size-4 accent-button"
        checked={on}
        onChange={(e) => onChange(e.target.checked)}
      />
      {label}
    </label>
  );
}

interface FamilyProps {
  family: Schemas["CatalogFamily"];
  families: Schemas["CatalogFamily"][];
  scope: Scope;
  onChange: (scope: Scope) => void;
}

// A family can be switched off as a whole; its tasks fold away, which they do at first on a narrow screen.
function Family({ family, families, scope, onChange }: FamilyProps) {
  const [open, setOpen] = useState(() => matchMedia("(min-width: 40rem)").matches);
  const id = useId();
  const on = lets(scope.families, family.id);
  const allowed = allowedTasks(scope, family);
  return (
    <li className="rounded-xl border border-line">
      <div className="flex items-center gap-3 px-4 py-2">
        <label className="flex min-h-9 min-w-0 grow items-center gap-3 font-medium">
          <input
            type="checkbox"
            className="size-4 accent-button"
            checked={on}
            disabled={scope.families.length === 1 && on}
            onChange={() =>
              onChange({
                ...scope,
                families: switched(
                  scope.families,
                  families.map((f) => f.id),
                  family.id,
                ),
              })
            }
          />
          {family.name}
        </label>
        <Tag tint={allowed > 0 ? "good" : "plain"}>
          {allowed} of {family.tasks.length} tasks
        </Tag>
        <Button
          look="quiet"
          aria-expanded={open}
          aria-controls={id}
          aria-label={`Tasks of ${family.name}`}
          onClick={() => setOpen(!open)}
        >
          {open ? "Hide" : "Show"}
        </Button>
      </div>
      <div id={id} hidden={!open} className="border-t border-line p-4">
        {!on && (
          <p className="mb-3 text-sm text-muted">
            The family is off: none of its calls is allowed. Its tasks can still be allowed for other
            families.
          </p>
        )}
        <ul aria-label={`Tasks of ${family.name}`} className="grid gap-2 sm:grid-cols-2 xl:grid-cols-3">
          {family.tasks.map((t) => (
            <li key={t.id}>
              <label className="flex h-full items-start gap-3 rounded-lg border border-edge px-3 py-2 has-checked:border-accent has-checked:bg-wash">
                <input
                  type="checkbox"
                  className="mt-1 size-4 shrink-0 accent-button"
                  checked={lets(scope.tasks, t.id)}
                  disabled={scope.tasks.length === 1 && lets(scope.tasks, t.id)}
                  onChange={() =>
                    onChange({ ...scope, tasks: switched(scope.tasks, taskIDs(families), t.id) })
                  }
                />
                <span className="min-w-0">
                  <span className="font-medium">{t.name}</span>
                  <span className="block text-sm text-muted">{t.description}</span>
                </span>
              </label>
            </li>
          ))}
        </ul>
      </div>
    </li>
  );
}
