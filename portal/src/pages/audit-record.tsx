import type { Schemas } from "../api/client";
import { changes, operationName } from "../audit/changes";
import { Moment } from "../format/time";
import { Dialog } from "../ui/dialog";

/** One record, with what was there before and what is there since. */
export function AuditRecord({
  record: r,
  actor,
  onClose,
}: {
  record: Schemas["AuditRecord"];
  actor: string;
  onClose: () => void;
}) {
  const facts: [string, React.ReactNode][] = [
    ["When", <Moment key="at" at={r.at} />],
    ["Who", actor],
    ["From", r.address ?? "the operator's command line"],
    ["What", `${r.kind.replaceAll("_", " ")} ${r.target}`],
    ["Session", r.session_id ?? "none"],
    ["Hash", r.hash],
  ];
  const differing = changes(r.before, r.after);
  return (
    <Dialog title={`Record ${r.seq}: ${operationName(r.operation)}`} onClose={onClose} wide>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-all">{value}</dd>
          </div>
        ))}
      </dl>
      {differing.length === 0 ? (
        <p className="mt-4 text-muted">No field changed: that it happened is the record.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section aria-label="Changes" tabIndex={0} className="mt-4 overflow-x-auto">
          <table className="w-full border-collapse text-left">
            <thead>
              <tr className="border-b border-line text-sm text-muted">
                <th scope="col" className="py-2 pr-4 font-medium">
                  Field
                </th>
                <th scope="col" className="py-2 pr-4 font-medium">
                  Before
                </th>
                <th scope="col" className="py-2 font-medium">
                  After
                </th>
              </tr>
            </thead>
            <tbody className="font-mono text-sm [&_td]:border-b [&_td]:border-line [&_td]:py-2 [&_td]:pr-4 [&_td]:align-top">
              {differing.map((c) => (
                <tr key={c.field}>
                  <td>{c.field}</td>
                  <td className="break-all">
                    <Side text={c.before} look="bg-bad-wash text-bad" />
                  </td>
                  <td className="break-all">
                    <Side text={c.after} look="bg-good-wash text-good" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Dialog>
  );
}

function Side({ text, look }: { text: string | undefined; look: string }) {
  if (text === undefined) return <span className="font-sans text-muted">not there</span>;
  return <span className={`rounded px-1.5 py-0.5 ${look}`}>{text === "" ? "empty" : text}</span>;
}
