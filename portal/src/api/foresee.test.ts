import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { foresee } from "./foresee";

const key = ["list"];

test("a change shows at once and can be taken back", () => {
  const client = new QueryClient();
  client.setQueryData(key, [1, 2]);
  const undo = foresee<number[]>(client, key, (l) => l.filter((n) => n !== 1));
  expect(client.getQueryData(key)).toEqual([2]);
  undo();
  expect(client.getQueryData(key)).toEqual([1, 2]);
});

test("an answer that was on its way does not overwrite it", async () => {
  const client = new QueryClient();
  client.setQueryData(key, [1]);
  let answer = (_: number[]) => {};
  const late = client
    .fetchQuery({
      queryKey: key,
      queryFn: () => new Promise<number[]>((done) => (answer = done)),
      staleTime: 0,
    })
    .catch(() => undefined);
  foresee<number[]>(client, key, () => [2]);
  answer([1]);
  await late;
  expect(client.getQueryData(key)).toEqual([2]);
});

test("what was never loaded is not made up", () => {
  const client = new QueryClient();
  foresee<number[]>(client, key, (l) => [...l, 3])();
  expect(client.getQueryData(key)).toBeUndefined();
});
