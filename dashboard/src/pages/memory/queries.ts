// What Memory reads: the facts of a scope or of a session's chain, those that match a question, and who was shown one.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, type Shapes } from "../../data/api";
import { GLOBAL, type MemorySearch } from "./address";

export type Item = Shapes["MemoryShape"] & { score?: number; reason?: string };
export type Read = { chain: string[]; agentId: string | null; items: Item[]; more: boolean };

const LISTED_MOST = 200;
const FOUND_MOST = 50;

/** `base` is a session that everybody has, for questions to a scope that is not a session's. */
export const memoryQuery = ({ scope = GLOBAL, session, q, type }: MemorySearch, base: string) => queryOptions({
  queryKey: ["memory", { scope, session, q, type }],
  queryFn: ({ signal }): Promise<Read> => (q === undefined ? list(scope, session, type, signal) : find(q, scope, session ?? base, session !== undefined, type, signal)),
  placeholderData: keepPreviousData,
});

async function list(scope: string, session: string | undefined, type: MemorySearch["type"], signal: AbortSignal): Promise<Read> {
  const whose = session === undefined ? { scope } : { sessionId: session };
  const page = await ask(api.GET("/api/memory", { params: { query: { ...whose, type, limit: LISTED_MOST } }, signal }));
  return { ...page, more: page.nextCursor !== null };
}

async function find(q: string, scope: string, sessionId: string, isChain: boolean, type: MemorySearch["type"], signal: AbortSignal): Promise<Read> {
  const taskId = scope.startsWith("task:") ? scope.slice("task:".length) : undefined;
  const { chain, items } = await ask(api.GET("/api/memory/search", { params: { query: { q, sessionId, taskId, limit: FOUND_MOST } }, signal }));
  const wanted = items.filter((item) => (isChain || item.scope === scope) && (type === undefined || item.type === type));
  return { chain: isChain ? chain : [scope], agentId: null, items: wanted, more: false };
}

export const readsQuery = (id: string) => queryOptions({
  queryKey: ["memory", id, "reads"],
  queryFn: ({ signal }) => ask(api.GET("/api/memory/{id}/reads", { params: { path: { id } }, signal })),
});
