/** Those whose label has the wanted letters in their order; whole words and beginnings first, then as they were. */
export function matching<T>(all: readonly T[], wanted: string, label: (t: T) => string): T[] {
  const letters = wanted.trim().toLowerCase();
  if (!letters) return [...all];
  return all
    .map((t, at) => ({ t, at, rank: rank(label(t).toLowerCase(), letters) }))
    .filter((m) => m.rank < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.rank - b.rank || a.at - b.at)
    .map((m) => m.t);
}

function rank(text: string, letters: string): number {
  if (text.startsWith(letters)) return 0;
  if (text.split(/\s+/).some((word) => word.startsWith(letters))) return 1;
  if (text.includes(letters)) return 2;
  let from = 0;
  for (const letter of letters) {
    const at = text.indexOf(letter, from);
    if (at < 0) return Number.POSITIVE_INFINITY;
    from = at + 1;
  }
  return 3;
}
