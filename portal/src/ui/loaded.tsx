import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { asFailure } from "../api/failure";
import { Failed, Skeleton } from "./layout";

/** Shows what a query brought; before that a skeleton, or why it failed. Data that is there stays while it is fetched anew. */
export function Loaded<T>({
  query,
  lines = 3,
  children,
}: {
  query: UseQueryResult<T>;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Failed failure={asFailure(query.error)} onRetry={() => void query.refetch()} />;
  return <Skeleton lines={lines} />;
}
