/**
 * Whether an address can be the one that an invite shows masked, as in "ch•••••@example.com". The mask keeps the beginning and
 * the domain, so that a "no" is sure and a "yes" is not.
 */
export function fits(email: string, masked: string): boolean {
  const dots = masked.indexOf("•");
  if (dots < 0) return email.toLowerCase() === masked.toLowerCase();
  const head = masked.slice(0, dots).toLowerCase();
  const tail = masked.slice(masked.lastIndexOf("•") + 1).toLowerCase();
  const own = email.toLowerCase();
  return own.length >= head.length + tail.length && own.startsWith(head) && own.endsWith(tail);
}
