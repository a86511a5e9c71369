import { type AuditSearch, narrowed } from "../app/searches";
import { operationName } from "../audit/changes";
import { Filter, FilterChoice, FilterDays, FilterField } from "../ui/filter";

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
  const choose = (name: keyof AuditSearch) => (value: string | undefined) =>
    onChange(narrowed(search, name, value));
  return (
    <Filter>
      {organization && (
        <FilterField label="Whose">
          <select
            className="field"
            value={search.scope ?? "account"}
            onChange={(e) => onChange(e.target.value === "organization" ? { scope: "organization" } : {})}
          >
            <option value="account">Mine</option>
            <option value="organization">The organization's</option>
          </select>
        </FilterField>
      )}
      {members.size > 1 && (
        <FilterChoice label="Actor" value={search.actor} values={[...members]} onChange={choose("actor")} />
      )}
      <FilterChoice
        label="Operation"
        value={search.operation}
        values={operations.map((o) => [o, operationName(o)])}
        onChange={choose("operation")}
      />
      <FilterChoice
        label="Kind"
        value={search.kind}
        values={kinds.map((k) => [k, k.replaceAll("_", " ")])}
        onChange={choose("kind")}
      />
      <FilterDays days={search} onChange={(name, value) => choose(name)(value)} />
    </Filter>
  );
}
