export interface Card {
  id: number;
  title: string;
  detail: string;
}

export interface Column {
  title: string;
  cards: Card[];
}

/** What the model is told. */
export const instruction = `You turn the description of a project into a Kanban board. Answer with JSON only, without a code fence:
{"columns":[{"title":"To do","cards":[{"title":"...","detail":"..."}]}]}
Three to five columns, at most eight cards in each. Titles have at most eight words. Write in the language of the description.`;

const mostColumns = 8;
const mostCards = 40;

/** The board in an answer; undefined when there is none. Text around the JSON is skipped. */
export function parseBoard(answer: string): Column[] | undefined {
  const from = answer.indexOf("{");
  const to = answer.lastIndexOf("}");
  if (from < 0 || to < from) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(answer.slice(from, to + 1));
  } catch {
    return undefined;
  }
  const columns = (body as { columns?: unknown } | null)?.columns;
  if (!Array.isArray(columns) || columns.length === 0) return undefined;
  let id = 0;
  const text = (value: unknown) => (typeof value === "string" ? value.trim() : "");
  const board = columns
    .slice(0, mostColumns)
    .flatMap((column: { title?: unknown; cards?: unknown } | null) => {
      const title = text(column?.title);
      if (!title) return [];
      const cards = Array.isArray(column?.cards) ? column.cards.slice(0, mostCards) : [];
      return [
        {
          title,
          cards: cards.flatMap((card: unknown) => {
            const named =
              typeof card === "string"
                ? { title: card }
                : (card as { title?: unknown; detail?: unknown } | null);
            const cardTitle = text(named?.title);
            return cardTitle
              ? [{ id: ++id, title: cardTitle, detail: text((named as { detail?: unknown }).detail) }]
              : [];
          }),
        },
      ];
    });
  return board.length > 0 ? board : undefined;
}

/** The board with a card in another column, at its end. */
export function moved(board: Column[], card: number, to: number): Column[] {
  const found = board.flatMap((c) => c.cards).find((c) => c.id === card);
  if (!found || to < 0 || to >= board.length) return board;
  return board.map((column, i) => {
    const others = column.cards.filter((c) => c.id !== card);
    return { ...column, cards: i === to ? [...others, found] : others };
  });
}
