import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { org as orgQuery } from "../api/queries";
import { useDeveloper } from "../session/session";
import type { Role } from "./rights";

function useOrg() {
  const developer = useDeveloper();
  const org = useQuery({ ...orgQuery, enabled: Boolean(developer?.org_id) });
  return developer?.org_id ? org.data : undefined;
}

/** The developer's role in their organization; undefined without one, or as long as it is not known. */
export function useRole(): Role | undefined {
  return useOrg()?.role;
}

/** The names of the developer and of the members of the organization, by id. */
export function useMembers(): ReadonlyMap<string, string> {
  const developer = useDeveloper();
  const org = useOrg();
  return useMemo(() => {
    const names = new Map(org?.members.map((m) => [m.dev_id, m.name]));
    if (developer) names.set(developer.id, `${developer.name} (you)`);
    return names;
  }, [developer, org]);
}
