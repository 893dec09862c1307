// What the pages of sessions read and do.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { useAction } from "../../data/action";
import { api, ask, readAll, type Run, type Session } from "../../data/api";
import { cache } from "../../data/cache";
import { compact, splitKey, titleOfSession } from "../../data/words";
import { toast } from "../../ui/toast";
import type { Kind, SessionsSearch } from "./address";

const PAGE = 200;

export const listQuery = ({ q, state, agent, archived }: SessionsSearch) => queryOptions({
  queryKey: ["sessions", "table", { q, state, agent, archived }],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/sessions", { params: { query: { limit: PAGE, q, state, agentId: agent, archived: archived === "1", cursor } }, signal })),
    (page) => page.sessions,
  ),
  placeholderData: keepPreviousData,
});

/** What a session spawned: those at work first, then those that were archived when they were done. */
export const childrenQuery = (key: string) => queryOptions({
  queryKey: ["sessions", "spawned", key],
  async queryFn({ signal }) {
    const read = (archived: boolean) => ask(api.GET("/api/sessions", { params: { query: { spawnedBy: key, limit: PAGE, archived } }, signal }));
    return (await Promise.all([read(false), read(true)])).flatMap(({ sessions }) => sessions);
  },
});

export const generationsQuery = (key: string) => queryOptions({
  queryKey: ["session", key, "generations"],
  queryFn: ({ signal }) => ask(api.GET("/api/sessions/{key}/generations", { params: { path: { key } }, signal })),
});

export const queueQuery = (key: string) => queryOptions({
  queryKey: ["session", key, "queue"],
  queryFn: ({ signal }) => ask(api.GET("/api/sessions/{key}/queue", { params: { path: { key } }, signal })),
});

/** Return how large the last request was, against what the model takes where that is known. */
export function contextOf({ contextTokens, contextWindow }: Session): string {
  if (contextTokens === 0) return "";
  return contextWindow.modelTokens == null ? compact(contextTokens) : `${compact(contextTokens)} of ${compact(contextWindow.modelTokens)}, ${Math.round((contextTokens / contextWindow.modelTokens) * 100)} %`;
}

const MACHINE = /^(subagent|cron|hook|openresponses|openresponses-user|a2a):|^node-/;

/** Return which of the kinds that people tell apart a session is; those that programs open are machine-made. */
export function kindOf(key: string): Kind {
  const { rest } = splitKey(key);
  if (MACHINE.test(rest)) return "machine";
  if (rest === "main") return "main";
  return rest.startsWith("task:") ? "tasks" : "chats";
}

/** Put a title into every list at once; the server's answer replaces it. */
function retitle(key: string, title: string): void {
  cache.setQueriesData<{ rows: Session[] }>({ queryKey: ["sessions", "table"] }, (page) => page && { ...page, rows: page.rows.map((row) => (row.key === key ? { ...row, title, displayName: title } : row)) });
  cache.setQueriesData<{ session: Session }>({ queryKey: ["session", key], exact: true }, (page) => page && { session: { ...page.session, title, displayName: title } });
}

export function useRename() {
  return useAction({
    act: ({ key, title }: { key: string; title: string }) => ask(api.PATCH("/api/sessions/{key}", { params: { path: { key } }, body: { title: title || null } })),
    failed: "The session was not renamed",
    optimistic: { keys: ({ key }) => [["sessions", "table"], ["session", key]], change: ({ key, title }) => title && retitle(key, title) },
  });
}

/** Archive a session or bring it back; the message offers the way back. */
export function useArchive() {
  const action = useAction({
    act: ({ session, archived }: { session: Session; archived: boolean }): Promise<unknown> => {
      const params = { path: { key: session.key } };
      return archived ? ask(api.POST("/api/sessions/{key}/archive", { params })) : ask(api.POST("/api/sessions/{key}/unarchive", { params }));
    },
    failed: "The session was not moved",
    optimistic: {
      keys: () => [["sessions", "table"]],
      change: ({ session }) => void cache.setQueriesData<{ rows: Session[] }>({ queryKey: ["sessions", "table"] }, (page) => page && { ...page, rows: page.rows.filter((row) => row.key !== session.key) }),
    },
    done: (_answer, { session, archived }) => void toast({
      text: `${archived ? "Archived" : "Brought back"}: ${titleOfSession(session)}`,
      action: { label: "Undo", run: () => action.mutate({ session, archived: !archived }) },
    }),
  });
  return action;
}

export function useStop() {
  return useAction({
    act: (session: Session) => ask(api.POST("/api/sessions/{key}/stop", { params: { path: { key: session.key } } })),
    failed: "The session was not stopped",
    done: (_answer, session) => void toast({ text: `Stopped: ${titleOfSession(session)}` }),
  });
}

/** Move a queued run one place up in its queue. */
export function useAdvance() {
  return useAction({
    act: (run: Run) => ask(api.POST("/api/runs/{id}/advance", { params: { path: { id: run.id } } })),
    failed: "The run was not moved up",
    optimistic: {
      keys: ({ sessionKey }) => [["session", sessionKey, "queue"]],
      change: ({ id, sessionKey }) => void cache.setQueryData<{ running: Run | null; runs: Run[] }>(["session", sessionKey, "queue"], (queue) => queue && { ...queue, runs: advanced(queue.runs, id) }),
    },
  });
}

function advanced(runs: Run[], id: string): Run[] {
  const at = runs.findIndex((run) => run.id === id);
  return at < 1 ? runs : runs.with(at - 1, runs[at] as Run).with(at, runs[at - 1] as Run);
}
