import type { AuditSearch } from "../app/searches";
import { operationName } from "../audit/changes";

interface Props {
  search: AuditSearch;
  members: ReadonlyMap<string, string>;
  organization: boolean; // whether its log may be read
  onChange: (search: AuditSearch) => void;
}

const kinds = [
  "account",
  "session",
  "password",
  "second_factor",
  "mail",
  "app",
  "key",
  "darwin_token",
  "organization",
  "member",
  "invite",
];

const operations = [
  "register",
  "login",
  "loginTotp",
  "loginWithGoogle",
  "logout",
  "endSession",
  "changePassword",
  "resetPassword",
  "verifyEmail",
  "confirmTotp",
  "disableTotp",
  "deleteAccount",
  "restoreAccount",
  "createApp",
  "updateApp",
  "deleteApp",
  "createKey",
  "regenerateKey",
  "revokeKey",
  "keyForStream",
  "createDarwinToken",
  "revokeDarwinToken",
  "createOrg",
  "renameOrg",
  "addMember",
  "invite",
  "resendInvite",
  "revokeInvite",
  "acceptInvite",
  "changeRole",
  "removeMember",
];

/** What of the log is shown. All of it is in the address, so that it can be sent to a colleague. */
export function AuditFilter({ search, members, organization, onChange }: Props) {
  const set = (name: keyof AuditSearch, value: string) => {
    const { [name]: _, ...rest } = search;
    onChange(value ? { ...rest, [name]: value } : rest);
  };
  const select = (
    name: "actor" | "operation" | "kind",
    label: string,
    values: Iterable<readonly [string, string]>,
  ) => (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-muted">{label}</span>
      <select className="field" value={search[name] ?? ""} onChange={(e) => set(name, e.target.value)}>
        <option value="">All</option>
        {[...values].map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const date = (name: "from" | "to", label: string) => (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-muted">{label}</span>
      <input
        type="date"
        className="field"
        value={search[name] ?? ""}
        onChange={(e) => set(name, e.target.value)}
      />
    </label>
  );
  return (
    <search aria-label="Filter" className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      {organization && (
        <label className="flex min-w-0 flex-col gap-1">
          <span className="text-sm text-muted">Whose</span>
          <select
            className="field"
            value={search.scope ?? "account"}
            onChange={(e) => onChange(e.target.value === "organization" ? { scope: "organization" } : {})}
          >
            <option value="account">Mine</option>
            <option value="organization">The organization's</option>
          </select>
        </label>
      )}
      {members.size > 1 && select("actor", "Actor", members)}
      {select(
        "operation",
        "Operation",
        operations.map((o) => [o, operationName(o)] as const),
      )}
      {select(
        "kind",
        "Kind",
        kinds.map((k) => [k, k.replaceAll("_", " ")] as const),
      )}
      {date("from", "From")}
      {date("to", "Until, included")}
    </search>
  );
}
