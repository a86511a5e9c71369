import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { asFailure } from "../api/failure";
import { foresee } from "../api/foresee";
import { forgetKey, rememberKey } from "../api/gateway";
import { app as appQuery } from "../api/queries";
import { type Key, KeyCard } from "../keys/card";
import { type Change, ChangeReceipt } from "../keys/change";
import { Fresh, Reveal, Rotate } from "../keys/dialogs";
import { reached } from "../keys/receipt";
import { may } from "../org/rights";
import { useRole } from "../org/role";
import { Button } from "../ui/button";
import { Confirm } from "../ui/dialog";
import { Card, Empty, Failed, Notice } from "../ui/layout";
import { Rows } from "../ui/rows";
import { toast } from "../ui/toast";
import { useApp } from "./app";

/** What is asked about a key, or shown of it. */
type Open =
  | { what: "reveal" | "rotate" | "revoke"; key: Key }
  | { what: "fresh"; key: Schemas["NewKey"]; rotated: boolean };

export function AppKeys() {
  const app = useApp();
  const role = useRole();
  const client = useQueryClient();
  const [open, setOpen] = useState<Open>();
  const [change, setChange] = useState<Change>();
  const close = () => setOpen(undefined);
  const listKey = appQuery(app.app_id).queryKey;
  const settle = () => void client.invalidateQueries({ queryKey: listKey });
  const changeable = may(role, "changeApps");

  const path = (key: Key) => ({ app_id: app.app_id, key_id: key.key_id });
  const create = useMutation({
    mutationFn: () => ask(api.POST("/dev/apps/{app_id}/keys", { params: { path: { app_id: app.app_id } } })),
    onSuccess: (key) => {
      rememberKey(key.key_id, key.key);
      setOpen({ what: "fresh", key, rotated: false });
      setChange({ said: `${key.hint} is active`, reached: reached(key.receipt) });
    },
    onSettled: settle,
  });
  const rotate = useMutation({
    mutationFn: ({ key, grace }: { key: Key; grace: number }) =>
      ask(
        api.POST("/dev/apps/{app_id}/keys/{key_id}/regenerate", {
          params: { path: path(key) },
          body: { grace },
        }),
      ),
    onSuccess: (key) => {
      rememberKey(key.key_id, key.key);
      setOpen({ what: "fresh", key, rotated: true });
      const old = key.previous_expires_at ? "" : " and the old value refused";
      setChange({ said: `${key.hint} is active${old}`, reached: reached(key.receipt) });
    },
    onSettled: settle,
  });
  const revoke = useMutation({
    mutationFn: (key: Key) =>
      ask(api.DELETE("/dev/apps/{app_id}/keys/{key_id}", { params: { path: path(key) } })),
    onMutate: (key) => {
      close();
      setChange({ said: `${key.hint} is being revoked`, reached: undefined });
      return foresee<Schemas["AppDetail"]>(client, listKey, (a) => ({
        ...a,
        keys: a.keys.map((k) => (k.key_id === key.key_id ? { ...k, status: "revoked" as const } : k)),
      }));
    },
    onSuccess: (answer, key) => {
      forgetKey(key.key_id);
      setChange({ said: `${key.hint} is revoked`, reached: reached(answer.receipt) });
    },
    onError: (thrown, key, undo) => {
      undo?.();
      setChange(undefined);
      toast("bad", `${key.hint} is not revoked: ${asFailure(thrown).message}`);
    },
    onSettled: settle,
  });

  const add = changeable && (
    <Button
      look="primary"
      icon="plus"
      disabled={create.isPending || !app.active}
      onClick={() => create.mutate()}
    >
      New key
    </Button>
  );
  const card = (key: Key) => (
    <KeyCard
      key={key.key_id}
      appID={app.app_id}
      apiKey={key}
      changeable={changeable}
      onOpen={(what) => setOpen({ what, key })}
    />
  );
  const active = app.keys.filter((k) => k.status === "active");
  const revoked = app.keys.filter((k) => k.status !== "active");
  return (
    <div className="flex flex-col gap-4">
      {!app.active && (
        <Notice tint="warn">
          The app is switched off: its keys do not work. Switch it on in its{" "}
          <Link to="/apps/$appId/settings" params={{ appId: app.app_id }} className="underline">
            settings
          </Link>
          .
        </Notice>
      )}
      {change && <ChangeReceipt change={change} />}
      {create.isError && <Failed failure={asFailure(create.error)} />}
      {active.length === 0 ? (
        <Empty icon="token" title={revoked.length === 0 ? "No keys yet" : "No active keys"} action={add}>
          The value of a key is shown when it is made. You can read it again later; every reading is recorded.
        </Empty>
      ) : (
        <Card title="Keys" about="The list never holds their values." actions={add}>
          <Rows label="Keys of the app">{active.map(card)}</Rows>
        </Card>
      )}
      {revoked.length > 0 && (
        <details className="card p-4 sm:p-5">
          <summary className="text-muted">
            {revoked.length === 1 ? "One revoked key" : `${revoked.length} revoked keys`}
          </summary>
          <div className="mt-3">
            <Rows label="Revoked keys">{revoked.map(card)}</Rows>
          </div>
        </details>
      )}
      {open?.what === "fresh" && <Fresh fresh={open.key} rotated={open.rotated} onClose={close} />}
      {open?.what === "reveal" && <Reveal appID={app.app_id} apiKey={open.key} onClose={close} />}
      {open?.what === "rotate" && (
        <Rotate
          apiKey={open.key}
          busy={rotate.isPending}
          problem={rotate.error ? asFailure(rotate.error).message : undefined}
          onRotate={(grace) => rotate.mutate({ key: open.key, grace })}
          onClose={close}
        />
      )}
      {open?.what === "revoke" && (
        <Confirm
          title={`Revoke ${open.key.hint}?`}
          action="Revoke"
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate(open.key)}
          onClose={close}
        >
          Calls with any of its values are refused at once, and streams that are under way end. This is final.
        </Confirm>
      )}
    </div>
  );
}
