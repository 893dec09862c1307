// What the pages of runs read and do.

import { queryOptions } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useAction } from "../../data/action";
import { api, ask, type Message, type Run } from "../../data/api";
import { instant, titleOfRun } from "../../data/words";
import { toast } from "../../ui/toast";

export const whyQuery = (id: string) => queryOptions({
  queryKey: ["run", id, "why"],
  queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}/why", { params: { path: { id } }, signal })),
});

export const artifactsQuery = (id: string) => queryOptions({
  queryKey: ["run", id, "artifacts"],
  queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}/artifacts", { params: { path: { id } }, signal })),
});

const MESSAGES_MOST = 1_000;

/** What a run heard, called and said; empty before its lane heard it. */
export const talkQuery = (run: Pick<Run, "id" | "sessionId">) => queryOptions({
  queryKey: ["run", run.id, "talk", run.sessionId],
  queryFn: async ({ signal }): Promise<Message[]> => {
    if (run.sessionId === null) return [];
    const params = { path: { key: run.sessionId }, query: { runId: run.id, includeTools: true, limit: MESSAGES_MOST } };
    return (await ask(api.GET("/api/sessions/{key}/history", { params, signal }))).messages;
  },
});

export type ToolUse = { id: string; name: string; arguments: unknown; calledAt: string; result: string | null; outcome: string | null; endedAt: string | null };

/** Return the calls of tools in a transcript, each with what came of it. */
export function toolsIn(messages: Message[]): ToolUse[] {
  const uses: ToolUse[] = [];
  for (const { content, timestamp } of messages) {
    for (const block of content) {
      if (block.type === "toolCall") uses.push({ id: block.id, name: block.name, arguments: block.arguments, calledAt: timestamp, result: null, outcome: null, endedAt: null });
      if (block.type !== "toolResult") continue;
      const use = uses.find((each) => each.id === block.toolCallId && each.outcome === null);
      if (use) Object.assign(use, { result: block.text, outcome: block.outcome, endedAt: timestamp });
    }
  }
  return uses;
}

export const isLive = (run: Pick<Run, "state">): boolean => run.state === "queued" || run.state === "running" || run.state === "waiting";

/** Return when a run was queued, began and ended in milliseconds; what has not happened yet is `now`. */
export function timesOf(run: Pick<Run, "createdAt" | "startedAt" | "endedAt">, now: number): { queued: number; began: number; ended: number } {
  const queued = instant(run.createdAt) ?? now;
  const ended = instant(run.endedAt) ?? now;
  return { queued, began: Math.min(instant(run.startedAt) ?? ended, ended), ended };
}

/** Return a duration as exactly as it is useful: 840 ms, 3.2 s, 4 min 10 s. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((milliseconds % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const money = (usd: number | null | undefined): string => {
  if (usd === null || usd === undefined) return "unknown";
  return usd === 0 ? "$0" : `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`;
};

/** Send a failed run's message again; the new run is offered to look at. */
export function useRetry() {
  const navigate = useNavigate();
  return useAction({
    act: (run: Run) => ask(api.POST("/api/runs/{id}/retry", { params: { path: { id: run.id } } })),
    failed: "The run was not retried",
    done: ({ runId }, run) => toast({
      text: `Sent again: ${titleOfRun(run)}`,
      action: { label: "Open", run: () => void navigate({ to: "/runs/$id", params: { id: runId } }) },
    }),
  });
}

export function useCancel() {
  return useAction({
    act: (run: Run) => ask(api.POST("/api/runs/{id}/cancel", { params: { path: { id: run.id } } })),
    failed: "The run was not cancelled",
    done: (_answer, run) => void toast({ text: `Cancelled: ${titleOfRun(run)}` }),
  });
}
