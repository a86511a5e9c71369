import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { app as appQuery, apps as appsQuery, catalog as catalogQuery } from "../api/queries";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { Card, Failed, Table } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { toast } from "../ui/toast";
import { useApp } from "./app";
import { type Scope, taskRows, toggled, verdict } from "./scope";

export function AppScope() {
  const app = useApp();
  const catalog = useQuery(catalogQuery);
  return (
    <Loaded query={catalog} lines={8}>
      {({ families }) => <Matrix key={app.updated_at} app={app} families={families} />}
    </Loaded>
  );
}

function Matrix({ app, families }: { app: Schemas["AppDetail"]; families: Schemas["CatalogFamily"][] }) {
  const client = useQueryClient();
  const [scope, setScope] = useState<Scope>({ families: app.families, tasks: app.tasks });
  const rows = taskRows(families);
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
      toast("good", "The scope is saved. Keys of the app have it within a moment.");
    },
  });
  return (
    <Card
      title="Scope"
      about="What the app's keys may use: a call needs both its family and its task. With nothing chosen in a row or a column, all of them are allowed, those of the future too."
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
      <fieldset className="mb-4">
        <legend className="mb-2 text-sm font-medium">Families</legend>
        <div className="flex flex-wrap gap-2">
          {families.map((f) => (
            <label
              key={f.id}
              className="flex items-center gap-2 rounded-lg border border-edge px-3 py-1.5 has-checked:border-accent has-checked:bg-wash"
            >
              <input
                type="checkbox"
                className="accent-button"
                checked={scope.families.includes(f.id)}
                onChange={() => setScope({ ...scope, families: toggled(scope.families, f.id) })}
              />
              {f.name}
            </label>
          ))}
        </div>
      </fieldset>
      <Table label="What keys may do" head={["Task", ...families.map((f) => f.name)]}>
        {rows.map((task) => (
          <tr key={task.id}>
            <td>
              <label className="flex items-start gap-2">
                <input
                  type="checkbox"
                  className="mt-1 accent-button"
                  checked={scope.tasks.includes(task.id)}
                  onChange={() => setScope({ ...scope, tasks: toggled(scope.tasks, task.id) })}
                />
                <span>
                  <span className="font-medium">{task.name}</span>
                  <span className="block text-sm text-muted max-sm:hidden">{task.description}</span>
                </span>
              </label>
            </td>
            {families.map((f) => (
              <Cell key={f.id} says={verdict(scope, f, task.id)} />
            ))}
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Cell({ says }: { says: ReturnType<typeof verdict> }) {
  if (says === "none")
    return (
      <td className="text-muted">
        <span aria-hidden="true">·</span>
        <span className="sr-only">does not exist</span>
      </td>
    );
  const allowed = says === "allowed";
  return (
    <td className={allowed ? "text-good" : "text-bad"}>
      <Icon name={allowed ? "check" : "close"} />
      <span className="sr-only">{allowed ? "allowed" : "refused"}</span>
    </td>
  );
}
