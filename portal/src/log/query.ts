import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../api/client";
import type { LogSearch } from "../app/searches";
import { span } from "../format/days";

const pageSize = 50;

/** Of several apps: where each goes on; null for one that has ended. */
type Cursors = Record<string, string | null>;

/** The pages of some apps, one beside the other. */
export type LogPage = Record<string, Schemas["RequestPage"]>;

/** The log of apps, page by page. Each app has a cursor of its own. */
export const log = (apps: readonly string[], { status, model, key, from, to }: LogSearch) =>
  infiniteQueryOptions({
    queryKey: ["log", apps, { status, model, key, from, to }],
    initialPageParam: Object.fromEntries(apps.map((a) => [a, ""])) as Cursors,
    queryFn: async ({ pageParam }) => {
      const wanted = Object.entries(pageParam).filter(([, cursor]) => cursor !== null);
      const pages = await Promise.all(
        wanted.map(async ([app, cursor]) => {
          const query = {
            limit: pageSize,
            ...span(from, to),
            ...(status ? { status } : {}),
            ...(model ? { model } : {}),
            ...(key ? { key_id: key } : {}),
            ...(cursor ? { cursor } : {}),
          };
          const params = { path: { app_id: app }, query };
          const page = await ask(api.GET("/dev/apps/{app_id}/requests", { params }));
          return [app, page as Schemas["RequestPage"]] as const; // CSV comes only to who asks for it
        }),
      );
      return Object.fromEntries(pages) as LogPage;
    },
    getNextPageParam: (page) => {
      const next: Cursors = Object.fromEntries(Object.entries(page).map(([a, p]) => [a, p.next_cursor]));
      return Object.values(next).some((cursor) => cursor !== null) ? next : undefined;
    },
  });
