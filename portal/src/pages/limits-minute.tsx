import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import { apps as appsQuery } from "../api/queries";
import { number } from "../format/number";
import { ago } from "../format/time";
import { Card, Table } from "../ui/layout";
import { Meter } from "../ui/meter";

/** What keys and apps used of their limits per minute, as the usage records tell it. */
export function MinuteUse({ minute, of }: { minute: Schemas["MinuteLimit"]; of?: string }) {
  const apps = useQuery(appsQuery);
  const names = new Map(apps.data?.map((a) => [a.app_id, a.name]));
  const nameOf = (id: string | null) => (id === null ? "Darwin token" : (names.get(id) ?? id));
  if (minute.keys.length === 0 && minute.apps.length === 0) return null;
  const title = of ? `Used this minute by ${of}` : "Used this minute";
  return (
    <Card
      title={title}
      about="Calls that ended, by the UTC minute they arrived in. The limits hold in every 60 seconds, so what counts now is between this minute's number and both together."
    >
      <Table label={title} head={["Of", "This minute", "", "The minute before", "All free"]}>
        {minute.apps.map((a) => (
          <Used key={a.app_id} name={nameOf(a.app_id)} about="all keys" limit={a.limit} use={a} />
        ))}
        {minute.keys.map((k) => (
          <Used key={k.key_id} name={k.hint} about={nameOf(k.app_id)} limit={minute.limit} use={k} />
        ))}
      </Table>
    </Card>
  );
}

type UsedProps = {
  name: string;
  about: string;
  limit: number;
  use: Schemas["MinuteUse"];
};

function Used({ name, about, limit, use }: UsedProps) {
  return (
    <tr>
      <td className="wrap-anywhere">
        <span className="font-medium">{name}</span> <span className="text-muted">{about}</span>
      </td>
      <td className="tabular-nums">
        {number(use.used)} of {number(limit)}
      </td>
      <td className="min-w-24">
        <Meter label={`${name}, this minute`} used={use.used} limit={limit} />
      </td>
      <td className="tabular-nums">{number(use.before)}</td>
      <td className="whitespace-nowrap text-muted">{ago(use.resets_at)}</td>
    </tr>
  );
}
