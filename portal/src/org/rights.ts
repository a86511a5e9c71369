import type { Schemas } from "../api/client";

export type Role = Schemas["Role"];

export const roles: readonly Role[] = ["owner", "admin", "developer", "billing", "viewer"];

/** What each role is for, in the words of the contract. */
export const roleAbout: Record<Role, string> = {
  owner: "Everything, also billing and who owns it.",
  admin: "Apps, keys, members, invites and the audit log.",
  developer: "Apps and keys.",
  billing: "Billing only.",
  viewer: "Reads apps and usage.",
};

// As the control plane has it: see package org. The page only hides what would be refused; the refusal is the control plane's.
const holders = {
  changeApps: ["owner", "admin", "developer"],
  manage: ["owner", "admin"],
  readAudit: ["owner", "admin"],
  own: ["owner"],
} as const satisfies Record<string, readonly Role[]>;

/** Whether a role has a right. Somebody without an organization has every right over what is their own. */
export function may(role: Role | undefined, right: keyof typeof holders): boolean {
  return role === undefined || (holders[right] as readonly Role[]).includes(role);
}

/** The roles that somebody may give: only owners make owners. */
export const givable = (mine: Role): Role[] => roles.filter((r) => r !== "owner" || may(mine, "own"));

/** Whether somebody may change or remove a member. The last owner stays, and only owners touch an owner. */
export function mayTouch(mine: Role, member: { role: Role }, members: readonly { role: Role }[]): boolean {
  if (!may(mine, "manage")) return false;
  if (member.role !== "owner") return true;
  return may(mine, "own") && members.filter((m) => m.role === "owner").length > 1;
}
