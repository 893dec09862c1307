// Budgets as they stand, and allowing one once more. Only owners see them.

import { queryOptions } from "@tanstack/react-query";
import { useAction } from "./action";
import { api, ask, type Budget } from "./api";
import { currentIdentity } from "./identity";

export const BUDGETS_CHANGED = () => [["budgets"], ["runs"]];

export const budgetsQuery = queryOptions({
  queryKey: ["budgets"],
  queryFn: ({ signal }) => ask(api.GET("/api/budgets", { signal })),
});

export function useIsOwner(): boolean {
  const identity = currentIdentity();
  return identity.stage === "in" && identity.me.actor.kind === "owner";
}

export const useAllowBudget = (done?: () => void) => useAction({
  act: ({ name, scope, subject }: Budget) => ask(api.POST("/api/budgets/allow", { body: { name, ...(scope.includes(":") || subject === null ? {} : { subject }) } })),
  failed: "The budget was not allowed once more",
  stale: BUDGETS_CHANGED,
  ...(done ? { done } : {}),
});
