import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { Moment } from "../format/time";
import { Button, buttonClass } from "../ui/button";
import { Tag } from "../ui/layout";
import { Row } from "../ui/rows";

export type Key = Schemas["Key"];

interface Props {
  appID: string;
  apiKey: Key;
  changeable: boolean; // whether its reader may change it and read its value
  onOpen: (what: "reveal" | "rotate" | "revoke") => void;
}

/** A key as its app's page lists it: never its value. */
export function KeyCard({ appID, apiKey, changeable, onOpen }: Props) {
  const active = apiKey.status === "active";
  const action = (
    what: "reveal" | "rotate" | "revoke",
    label: string,
    look: "plain" | "danger" = "plain",
  ) => (
    <Button look={look} className="grow" aria-label={`${label} ${apiKey.hint}`} onClick={() => onOpen(what)}>
      {label}
    </Button>
  );
  return (
    <Row
      actions={
        active &&
        changeable && (
          <div className="grid w-full grid-cols-2 gap-2 sm:flex sm:w-auto">
            <Link
              to="/playground"
              search={{ app: appID, key: apiKey.key_id }}
              className={`grow ${buttonClass()}`}
              aria-label={`Try ${apiKey.hint}`}
            >
              Try
            </Link>
            {action("reveal", "Show")}
            {action("rotate", "Rotate")}
            {action("revoke", "Revoke", "danger")}
          </div>
        )
      }
    >
      <p className="flex flex-wrap items-center gap-2">
        <code className="font-mono font-medium">{apiKey.hint}</code>
        <Tag tint={active ? "good" : "plain"}>{apiKey.status}</Tag>
        {apiKey.previous_expires_at && <Tag tint="warn">two values work</Tag>}
      </p>
      <p className="mt-1 text-sm text-muted">
        Created <Moment at={apiKey.created_at} relative /> ·{" "}
        {apiKey.revoked_at ? (
          <>
            revoked <Moment at={apiKey.revoked_at} relative />
          </>
        ) : apiKey.last_used_at ? (
          <>
            last used <Moment at={apiKey.last_used_at} relative />
          </>
        ) : (
          "never used"
        )}
      </p>
      {apiKey.previous_expires_at && (
        <p className="text-sm text-warn">
          An earlier value works until <Moment at={apiKey.previous_expires_at} />.
        </p>
      )}
    </Row>
  );
}
