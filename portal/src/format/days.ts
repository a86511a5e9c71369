/** A span of dates of the reader's zone, the last one included, as moments. */
export function span(from: string | undefined, to: string | undefined): { from?: string; to?: string } {
  return { ...(from ? { from: start(from, 0) } : {}), ...(to ? { to: start(to, 1) } : {}) };
}

function start(date: string, later: number): string {
  const at = new Date(`${date}T00:00:00`);
  at.setDate(at.getDate() + later); // a day on which the clock is changed is not 24 hours long
  return at.toISOString();
}
