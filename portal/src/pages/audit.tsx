import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import type { paths } from "../api/contract.gen";
import { asFailure } from "../api/failure";
import type { AuditSearch } from "../app/searches";
import { operationName } from "../audit/changes";
import { span } from "../format/days";
import { save } from "../format/save";
import { Moment, zone } from "../format/time";
import { may } from "../org/rights";
import { useMembers, useRole } from "../org/role";
import { Button } from "../ui/button";
import { Card, Empty, Failed, Notice, PageHead, Skeleton, Tag } from "../ui/layout";
import { Row, Rows } from "../ui/rows";
import { toast } from "../ui/toast";
import { AuditFilter } from "./audit-filter";
import { AuditRecord } from "./audit-record";

const pageSize = 50;
const mostExported = 10_000; // records in one file

type Query = NonNullable<paths["/dev/audit"]["get"]["parameters"]["query"]>;

/** What the address asks for, as the operation takes it. */
const queryOf = ({ from, to, ...rest }: AuditSearch): Query => ({ ...rest, ...span(from, to) });

export function Audit() {
  const search = useSearch({ from: "/console/audit" });
  const navigate = useNavigate();
  const role = useRole();
  const members = useMembers();
  const [open, setOpen] = useState<Schemas["AuditRecord"]>();
  const log = useInfiniteQuery({
    queryKey: ["audit", search],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam }) =>
      ask(
        api.GET("/dev/audit", {
          params: {
            query: { ...queryOf(search), limit: pageSize, ...(pageParam ? { cursor: pageParam } : {}) },
          },
        }),
      ) as Promise<Schemas["AuditPage"]>, // other forms come only to who asks for them
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const records = log.data?.pages.flatMap((p) => p.records) ?? [];
  const who = (id: string | null) => (id ? (members.get(id) ?? id) : "operator");
  const filtered = Object.keys(search).some((k) => k !== "scope");
  const go = (change: AuditSearch) => void navigate({ to: "/audit", search: change, replace: true });
  return (
    <>
      <PageHead title="Audit log" about={`Who changed what, and who read a key. Times are in ${zone()}.`}>
        <Export search={search} />
      </PageHead>
      <div className="flex flex-col gap-4">
        <Verdict scope={search.scope ?? "account"} />
        <Card>
          <AuditFilter
            search={search}
            members={members}
            organization={role !== undefined && may(role, "readAudit")}
            onChange={go}
          />
        </Card>
        <Card title="Records" about="The newest first.">
          {log.isPending ? (
            <Skeleton lines={8} />
          ) : log.isError && !log.data ? (
            <Failed failure={asFailure(log.error)} onRetry={() => void log.refetch()} />
          ) : records.length === 0 ? (
            <Empty
              icon="shield"
              title={filtered ? "Nothing fits the filter" : "Nothing is recorded yet"}
              action={
                filtered && (
                  <Button onClick={() => go(search.scope ? { scope: search.scope } : {})}>
                    Clear the filter
                  </Button>
                )
              }
            />
          ) : (
            <Rows label="Records">
              {records.map((r) => (
                <Row
                  key={r.seq}
                  beside
                  actions={
                    <Button look="quiet" aria-label={`Details of record ${r.seq}`} onClick={() => setOpen(r)}>
                      Details
                    </Button>
                  }
                >
                  <p className="flex flex-wrap items-center gap-2">
                    <span className="font-medium first-letter:uppercase">{operationName(r.operation)}</span>
                    <Tag>{r.kind.replaceAll("_", " ")}</Tag>
                    <code className="font-mono text-sm break-all text-muted">{r.target}</code>
                  </p>
                  <p className="text-sm text-muted">
                    <Moment at={r.at} /> · {who(r.actor)}
                    {r.address && ` · ${r.address}`}
                  </p>
                </Row>
              ))}
            </Rows>
          )}
          {log.hasNextPage && (
            <div className="mt-4 flex justify-center">
              <Button disabled={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
                {log.isFetchingNextPage ? "Loading …" : "Older records"}
              </Button>
            </div>
          )}
        </Card>
      </div>
      {open && <AuditRecord record={open} actor={who(open.actor)} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** Whether the log is as it was written: the check is the control plane's, over all of the log. */
function Verdict({ scope }: { scope: "account" | "organization" }) {
  const verdict = useQuery({
    queryKey: ["audit verdict", scope],
    queryFn: async () => {
      let checked = 0;
      let after: number | null = 0;
      for (;;) {
        const v: Schemas["AuditVerdict"] = await ask(
          api.GET("/dev/audit/verify", { params: { query: { scope, after: after ?? 0 } } }),
        );
        checked += v.checked;
        if (!v.intact || v.next_after === null) return { ...v, checked };
        after = v.next_after;
      }
    },
  });
  if (verdict.isPending) return <Skeleton lines={1} />;
  if (verdict.isError)
    return <Failed failure={asFailure(verdict.error)} onRetry={() => void verdict.refetch()} />;
  const { intact, checked, broken_at, reason, hash } = verdict.data;
  if (!intact)
    return (
      <Notice tint="bad">
        The log is not as it was written, from record {broken_at} on: {reason}. The {checked} records before
        it are whole. Tell whoever runs this installation.
      </Notice>
    );
  return (
    <Notice tint="good">
      Chain verified: {checked === 1 ? "one record is" : `${checked} records are`} as they were written.
      {hash && (
        <span className="block text-sm break-all">
          Hash of the last one: <code className="font-mono">{hash}</code>
        </span>
      )}
    </Notice>
  );
}

const forms = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

function Export({ search }: { search: AuditSearch }) {
  const [busy, setBusy] = useState(false);
  const download = async (form: keyof typeof forms) => {
    setBusy(true);
    try {
      const { text, count, more } = await everything(search, forms[form]);
      save(`audit.${form}`, forms[form], text);
      toast(
        "good",
        more
          ? `The newest ${count} records are saved; older ones are missing.`
          : `${count} records are saved.`,
      );
    } catch (thrown) {
      toast("bad", asFailure(thrown).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button icon="download" disabled={busy} onClick={() => void download("csv")}>
        CSV
      </Button>
      <Button icon="download" disabled={busy} onClick={() => void download("ndjson")}>
        NDJSON
      </Button>
    </>
  );
}

const exportPage = 1000;

/** All pages of a query as one file. The line of names of a CSV is that of the first page. */
async function everything(search: AuditSearch, accept: string) {
  let text = "";
  let count = 0;
  let cursor: number | undefined;
  for (;;) {
    const answer = await api.GET("/dev/audit", {
      params: { query: { ...queryOf(search), limit: exportPage, ...(cursor ? { cursor } : {}) } },
      headers: { Accept: accept },
      parseAs: "text",
    });
    const page = await ask(Promise.resolve(answer) as Promise<{ data: string; response: Response }>);
    const lines = page.split(/(?<=\n)/);
    const csv = accept === forms.csv;
    text += csv && count > 0 ? lines.slice(1).join("") : page;
    count += lines.filter((l) => l.trim() !== "").length - (csv ? 1 : 0);
    const next = Number(answer.response.headers.get("X-Next-Cursor") ?? 0);
    if (!next) return { text, count, more: false };
    if (count >= mostExported) return { text, count, more: true };
    cursor = next;
  }
}
