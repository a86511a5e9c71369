import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api/client";
import { asFailure } from "../api/failure";
import { account as accountQuery } from "../api/queries";
import { save } from "../format/save";
import { Moment } from "../format/time";
import { endSession } from "../session/session";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Form, Submit, TextField, text } from "../ui/form";
import { Card, Notice } from "../ui/layout";
import { toast } from "../ui/toast";

/** Takes the account's data along. */
export function Export() {
  const download = useMutation({
    mutationFn: () => ask(api.GET("/dev/account/export")),
    onSuccess: (all) => {
      save("modelgate-account.json", "application/json", `${JSON.stringify(all, null, 2)}\n`);
      toast("good", all.complete ? "The file is saved." : "The file is saved, without the oldest entries.");
    },
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  return (
    <Card title="Your data" about="Everything that is kept of the account, as one JSON file without secrets.">
      <Button icon="download" disabled={download.isPending} onClick={() => download.mutate()}>
        Export
      </Button>
    </Card>
  );
}

/** Says that the account is going to be removed, and takes it back. */
export function DeletionNotice() {
  const client = useQueryClient();
  const { data } = useQuery(accountQuery);
  const restore = useMutation({
    mutationFn: () => ask(api.POST("/dev/account/restore")),
    onSuccess: (fresh) => {
      client.setQueryData(accountQuery.queryKey, fresh);
      toast("good", "The account stays.");
    },
    onError: (thrown) => toast("bad", asFailure(thrown).message),
  });
  if (!data?.delete_at) return null;
  return (
    <div className="mb-4">
      <Notice tint="warn">
        <span className="flex flex-wrap items-center justify-between gap-3">
          <span>
            The account with its apps and keys is removed on <Moment at={data.delete_at} />. Its keys work
            until then.
          </span>
          <Button disabled={restore.isPending} onClick={() => restore.mutate()}>
            Keep the account
          </Button>
        </span>
      </Notice>
    </div>
  );
}

export function DeleteAccount() {
  const [asking, setAsking] = useState(false);
  const { data } = useQuery(accountQuery);
  if (data?.delete_at) return null;
  return (
    <Card title="Delete the account" about="You have seven days to take it back, by signing in.">
      <Button look="danger" onClick={() => setAsking(true)}>
        Delete the account
      </Button>
      {asking && (
        <Dialog title="Delete the account?" onClose={() => setAsking(false)}>
          <Form
            label="Delete the account"
            onSubmit={async (data) => {
              const password = text(data, "password");
              await ask(api.DELETE("/dev/account", { body: password ? { password } : {} }));
              toast("good", "The account is removed in seven days. Sign in before that to keep it.");
              endSession();
            }}
          >
            <p className="text-muted">
              Your apps, keys and tokens go with it, and all your sessions end now. Export your data first.
            </p>
            <TextField
              label="Your password"
              name="password"
              type="password"
              maxLength={128}
              autoComplete="current-password"
              hint="Empty, if you only ever signed in with Google."
            />
            <Submit>Delete the account</Submit>
          </Form>
        </Dialog>
      )}
    </Card>
  );
}
