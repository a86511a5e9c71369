import { expect, test } from "vitest";
import { moved, parseBoard } from "./board";

const json = '{"columns":[{"title":"To do","cards":[{"title":"A","detail":"b"},"C"]},{"title":"Done"}]}';

test("a board is found in an answer, with or without words around it", () => {
  const want = [
    {
      title: "To do",
      cards: [
        { id: 1, title: "A", detail: "b" },
        { id: 2, title: "C", detail: "" },
      ],
    },
    { title: "Done", cards: [] },
  ];
  expect(parseBoard(json)).toEqual(want);
  expect(parseBoard(`Here it is:\n\`\`\`json\n${json}\n\`\`\``)).toEqual(want);
});

test("what is no board is not made one", () => {
  for (const text of [
    "",
    "Sorry.",
    "{",
    "{}",
    '{"columns":[]}',
    '{"columns":{}}',
    '{"columns":[null,{"title":1}]}',
    "{oops}",
  ])
    expect(parseBoard(text), text).toBeUndefined();
});

test("a card moves to the end of another column and is in one place", () => {
  const board = parseBoard(json) ?? [];
  const after = moved(board, 1, 1);
  expect(after.map((c) => c.cards.map((x) => x.title))).toEqual([["C"], ["A"]]);
  expect(moved(board, 1, 2)).toBe(board);
  expect(moved(board, 9, 1)).toBe(board);
});
