import type { Schemas } from "../api/client";
import { duration } from "../format/number";

type Receipt = Schemas["Receipt"];

/** How far a change of keys has come. */
export interface Reached {
  complete: boolean;
  text: string;
}

/** Says of a receipt on how many nodes the change holds and after how long, and which nodes lack it. */
export function reached(receipt: Receipt | undefined): Reached {
  if (!receipt) return { complete: false, text: "Nothing is known of the gateway's nodes." };
  const { nodes, missing, detail } = receipt;
  const all = nodes.length + missing.length;
  if (all === 0) return { complete: false, text: detail ?? "No node of the gateway is running." };
  const slowest = Math.max(0, ...nodes.map((n) => n.ms));
  const count = `on ${nodes.length}/${all} ${all === 1 ? "node" : "nodes"}`;
  const after = nodes.length > 0 ? `, ${duration(slowest)}` : "";
  if (missing.length === 0) return { complete: true, text: `${count}${after}` };
  const late = missing.filter((m) => m.live).map((m) => m.name);
  const away = missing.filter((m) => !m.live).map((m) => m.name);
  const why = [
    late.length > 0 && `${late.join(", ")} ${late.length === 1 ? "has" : "have"} not confirmed yet`,
    away.length > 0 &&
      `${away.join(", ")} cannot be reached and ${away.length === 1 ? "takes" : "take"} it up when back`,
  ].filter(Boolean);
  return { complete: false, text: `${count}${after}; ${why.join("; ")}` };
}
