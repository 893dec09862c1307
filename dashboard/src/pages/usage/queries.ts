// What Usage reads, and its figures as people read them.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, type Shapes } from "../../data/api";
import { span } from "../../data/words";
import type { Group, UsageSearch } from "./address";

export type Row = Shapes["UsageRow"];
export type Used = Required<Shapes["Usage"]>;

export const DAY_MS = 86_400_000;
export const DAYS_DEFAULT = 30;

/** Return the first moment of the first day that is shown. */
export function since({ days }: UsageSearch): number {
  return (Math.floor(Date.now() / DAY_MS) - Number(days ?? DAYS_DEFAULT) + 1) * DAY_MS;
}

export function usageQuery(search: UsageSearch, by: Group | "day") {
  const from = new Date(since(search)).toISOString();
  const { agent, model, task, session } = search;
  return queryOptions({
    queryKey: ["usage", by, from, { agent, model, task, session }],
    queryFn: ({ signal }) => ask(api.GET("/api/usage", { params: { query: { from, by, agentId: agent, model, taskId: task, sessionKey: session } }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** Return the figures of a row; what the server leaves out is nothing, but a cost that it leaves out is unknown. */
export const usedOf = (row: Shapes["Usage"]): Used => ({
  runs: row.runs ?? 0, inputTokens: row.inputTokens ?? 0, cachedTokens: row.cachedTokens ?? 0, outputTokens: row.outputTokens ?? 0,
  costUsd: row.costUsd === undefined ? 0 : row.costUsd, seconds: row.seconds ?? 0,
});

export function money(cost: number | null): string {
  if (cost === null) return "unknown";
  return cost > 0 && cost < 0.01 ? "< $0.01" : `$${cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export const duration = (seconds: number): string => span(seconds * 1_000);
