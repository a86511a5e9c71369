import { useQuery } from "@tanstack/react-query";
import { billingInvoices, type Scope } from "../api/queries";
import { money } from "../format/money";
import { Moment } from "../format/time";
import { Card, Table, Tag, type Tint } from "../ui/layout";
import { Loaded } from "../ui/loaded";

const tints: Record<string, Tint> = { paid: "good", open: "warn", uncollectible: "bad" };

/** What was charged. */
export function Invoices({ scope }: { scope: Scope }) {
  const invoices = useQuery(billingInvoices(scope));
  return (
    <Card title="Invoices">
      <Loaded query={invoices}>
        {(list) =>
          list.length === 0 ? (
            <p className="text-muted">There are none yet.</p>
          ) : (
            <Table label="Invoices" head={["Date", "Number", "Amount", "Status", ""]}>
              {list.map((i) => (
                <tr key={i.invoice_id}>
                  <td className="whitespace-nowrap">
                    <Moment at={i.created_at} />
                  </td>
                  <td>{i.number ?? "draft"}</td>
                  <td className="tabular-nums">{money(i.amount, i.currency)}</td>
                  <td>
                    <Tag tint={tints[i.status] ?? "plain"}>{i.status}</Tag>
                  </td>
                  <td>
                    {i.url && (
                      <a href={i.url} className="relative text-accent underline" rel="noreferrer">
                        Open<span className="sr-only"> invoice {i.number}</span>
                      </a>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}
