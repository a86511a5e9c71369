import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { callGateway, credential, gatewayURL } from "../api/gateway";
import { catalog as catalogQuery } from "../api/queries";
import { Button } from "../ui/button";
import { Card, Empty, Failed, PageHead, Skeleton, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { chosenKey, useUsableKeys } from "./key-picker";

export function Models() {
  const catalog = useQuery(catalogQuery);
  return (
    <>
      <PageHead title="Models and skills" about="What can be asked for here, by its name in a call." />
      <Loaded query={catalog} lines={8}>
        {({ models, skills, families }) => (
          <div className="flex flex-col gap-4">
            <Card title="Models">
              {models.length === 0 ? (
                <Empty icon="cube" title="No model is configured">
                  The operator of this installation sets model servers up.
                </Empty>
              ) : (
                <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
                  {models.map((m) => (
                    <li key={m.id} className="rounded-lg border border-line p-4">
                      <p className="flex flex-wrap items-center gap-2">
                        <code className="font-mono font-semibold">{m.id}</code>
                        {m.default && <Tag tint="accent">default</Tag>}
                        <Tag>{m.family}</Tag>
                      </p>
                      <p className="mt-1 text-muted">{m.description}</p>
                    </li>
                  ))}
                </ul>
              )}
            </Card>
            <LiveModels />
            <Card title="Families and tasks" about="An app's scope is made of these.">
              <div className="grid gap-5 md:grid-cols-3">
                {families.map((f) => (
                  <div key={f.id}>
                    <h3 className="font-semibold">{f.name}</h3>
                    <p className="text-sm text-muted">{f.description}</p>
                    <ul className="mt-2 flex flex-col gap-1.5">
                      {f.tasks.map((t) => (
                        <li key={t.id}>
                          <code className="font-mono text-sm">{t.id}</code>
                          <span className="block text-sm text-muted">{t.description}</span>
                        </li>
                      ))}
                    </ul>
                  </div>
                ))}
              </div>
            </Card>
            <Card
              title="Skills"
              about="Called by POST /api/v1/skills/{name}/invoke. No model calls them on its own yet."
            >
              {skills.length === 0 ? (
                <p className="text-muted">No skill is configured.</p>
              ) : (
                <Table label="Skills" head={["Name", "What it does"]}>
                  {skills.map((s) => (
                    <tr key={s.name}>
                      <td>
                        <code className="mr-2 font-mono text-sm break-all">{s.name}</code>
                        <Tag>{s.family}</Tag>
                      </td>
                      <td className="text-muted">{s.description}</td>
                    </tr>
                  ))}
                </Table>
              )}
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
}

/** Which models answer at the moment, as the gateway tells the holder of a key. */
function LiveModels() {
  const { keys } = useUsableKeys();
  const chosen = keys && chosenKey(keys, {});
  const [asked, setAsked] = useState(false);
  const models = useQuery({
    queryKey: ["live models", chosen?.key.key_id],
    enabled: asked && chosen !== undefined,
    retry: false,
    queryFn: async () => {
      if (!chosen) throw new Error("no key");
      const key = await credential(chosen.app.app_id, chosen.key.key_id);
      const response = await callGateway(key, "/api/v1/models");
      return ((await response.json()) as Schemas["ModelCatalog"]).models;
    },
  });
  if (!chosen) return null;
  return (
    <Card
      title="Available to your key now"
      about={`As ${gatewayURL()} answers ${chosen.key.hint}.`}
      actions={
        <Button disabled={models.isFetching} onClick={() => (asked ? void models.refetch() : setAsked(true))}>
          {asked ? "Ask again" : "Ask the gateway"}
        </Button>
      }
    >
      {models.isError ? (
        <Failed failure={asFailure(models.error)} />
      ) : models.data ? (
        <Table label="Models available now" head={["Model", "Tasks", "Answered by", "State"]}>
          {models.data.map((m) => (
            <tr key={m.id}>
              <td>
                <code className="font-mono">{m.id}</code>
              </td>
              <td className="text-sm text-muted">{m.tasks.join(", ")}</td>
              <td>
                <Tag tint={m.backend === "simulator" ? "warn" : "plain"}>{m.backend}</Tag>
              </td>
              <td>
                <Tag tint={m.available ? "good" : "bad"}>{m.available ? "available" : "not available"}</Tag>
                {m.detail && <span className="mt-1 block text-sm text-muted">{m.detail}</span>}
              </td>
            </tr>
          ))}
        </Table>
      ) : (
        asked && <Skeleton lines={3} />
      )}
    </Card>
  );
}
