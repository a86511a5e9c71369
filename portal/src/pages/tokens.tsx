import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { darwinTokens, info as infoQuery } from "../api/queries";
import { Moment } from "../format/time";
import { type Change, ChangeReceipt } from "../keys/change";
import { reached } from "../keys/receipt";
import { SnippetTabs } from "../snippet/tabs";
import { Button } from "../ui/button";
import { Confirm, Dialog } from "../ui/dialog";
import { Form, Submit, TextField, text } from "../ui/form";
import { Card, Empty, PageHead, Table, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";
import { Secret } from "../ui/secret";

type Token = Schemas["DarwinToken"];

export function DarwinTokens() {
  const client = useQueryClient();
  const tokens = useQuery(darwinTokens);
  const info = useQuery(infoQuery);
  const [making, setMaking] = useState(false);
  const [fresh, setFresh] = useState<Schemas["NewDarwinToken"]>();
  const [revoking, setRevoking] = useState<Token>();
  const [change, setChange] = useState<Change>();
  const revoke = useMutation({
    mutationFn: (t: Token) =>
      ask(api.DELETE("/dev/darwin-tokens/{key_id}", { params: { path: { key_id: t.key_id } } })),
    onSuccess: async (answer, t) => {
      setRevoking(undefined);
      setChange({ said: `${t.name || t.hint} is revoked`, reached: reached(answer.receipt) });
      await client.invalidateQueries({ queryKey: darwinTokens.queryKey });
    },
  });
  const add = (
    <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
      New token
    </Button>
  );
  return (
    <>
      <PageHead
        title="Darwin tokens"
        about={
          <>
            They open one thing: <code className="font-mono">POST /api/v1/agent</code>
            {info.data && (
              <>
                {" "}
                at <code className="font-mono break-all">{info.data.darwin_url}</code>
              </>
            )}
            . They belong to you, not to an app.
          </>
        }
      >
        {add}
      </PageHead>
      {change && <ChangeReceipt change={change} />}
      <Loaded query={tokens} lines={5}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="token" title="No Darwin tokens yet" action={add}>
              Make one for each machine that calls. The value is shown once.
            </Empty>
          ) : (
            <Card>
              <Table
                label="Darwin tokens"
                head={["Name", "Token", "Status", "Created", "Last used", "Actions"]}
              >
                {list.map((t) => (
                  <tr key={t.key_id}>
                    <td className="font-medium">{t.name || "without a name"}</td>
                    <td>
                      <code className="font-mono whitespace-nowrap">{t.hint}</code>
                    </td>
                    <td>
                      <Tag tint={t.status === "active" ? "good" : "plain"}>{t.status}</Tag>
                    </td>
                    <td className="whitespace-nowrap">
                      <Moment at={t.created_at} relative />
                    </td>
                    <td className="whitespace-nowrap text-muted">
                      {t.last_used_at ? <Moment at={t.last_used_at} relative /> : "never"}
                    </td>
                    <td>
                      {t.status === "active" && (
                        <Button look="danger" aria-label={`Revoke ${t.hint}`} onClick={() => setRevoking(t)}>
                          Revoke
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
              </Table>
            </Card>
          )
        }
      </Loaded>
      {making && (
        <Dialog title="New Darwin token" onClose={() => setMaking(false)}>
          <Form
            label="New Darwin token"
            onSubmit={async (data) => {
              const expires = text(data, "expires_at");
              const token = await ask(
                api.POST("/dev/darwin-tokens", {
                  body: {
                    name: text(data, "name"),
                    ...(expires ? { expires_at: new Date(expires).toISOString() } : {}),
                  },
                }),
              );
              setMaking(false);
              setFresh(token);
              setChange({ said: `${token.hint} is active`, reached: reached(token.receipt) });
              await client.invalidateQueries({ queryKey: darwinTokens.queryKey });
            }}
          >
            <TextField label="Name" name="name" required maxLength={120} placeholder="laptop" />
            <TextField label="Expires" name="expires_at" type="datetime-local" hint="Empty: never." />
            <Submit>Create token</Submit>
          </Form>
        </Dialog>
      )}
      {fresh && (
        <Dialog title="Your new Darwin token" onClose={() => setFresh(undefined)} wide>
          <div className="flex flex-col gap-4">
            <p className="text-muted">It is shown now and never again. Keep it where your secrets are.</p>
            <Secret value={fresh.key} variable="DARWIN_TOKEN" />
            <SnippetTabs
              sample={{
                gateway: info.data?.darwin_url ?? "",
                body: { prompt: "Say hello in three languages.", stream: true },
                apiKey: fresh.key,
              }}
            />
          </div>
        </Dialog>
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name || revoking.hint}?`}
          action="Revoke"
          busy={revoke.isPending}
          problem={revoke.error ? asFailure(revoke.error).message : undefined}
          onConfirm={() => revoke.mutate(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          Calls with it are refused at once. This is final.
        </Confirm>
      )}
    </>
  );
}
