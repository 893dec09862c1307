// What pages read. A key begins with the kind of thing, then its id or the filter: `events.ts` says which events change it.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, readAll } from "./api";

type RunState = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
export type RunFilter = { sessionKey?: string; agentId?: string; taskId?: string; state?: RunState; limit?: number };

type TaskStatus = "inbox" | "assigned" | "in_progress" | "review" | "blocked" | "done";

const PAGE = 200;

/** Runs by a filter, newest first; at most `pages` pages of them. */
export const runsQuery = (filter: RunFilter, pages = 5) => queryOptions({
  queryKey: ["runs", filter, pages],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/runs", { params: { query: { limit: PAGE, ...filter, cursor } }, signal })),
    (page) => page.runs,
    pages,
  ),
  placeholderData: keepPreviousData,
});

export const runQuery = (id: string) => queryOptions({
  queryKey: ["run", id],
  queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}", { params: { path: { id } }, signal })),
});

export const receiptQuery = (id: string) => queryOptions({
  queryKey: ["run", id, "receipt"],
  queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}/receipt", { params: { path: { id } }, signal })),
});

export type SessionFilter = { q?: string; channel?: string; agentId?: string; taskId?: string; archived?: boolean; messageLimit?: number; limit?: number };

export const sessionsQuery = (filter: SessionFilter = {}, pages = 5) => queryOptions({
  queryKey: ["sessions", filter, pages],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/sessions", { params: { query: { limit: PAGE, ...filter, cursor } }, signal })),
    (page) => page.sessions,
    pages,
  ),
  placeholderData: keepPreviousData,
});

export const sessionQuery = (key: string) => queryOptions({
  queryKey: ["session", key],
  queryFn: ({ signal }) => ask(api.GET("/api/sessions/{key}", { params: { path: { key } }, signal })),
});

export const tasksQuery = (filter: { status?: TaskStatus; topicId?: string; assigneeId?: string; relatedTo?: string } = {}, pages = 5) => queryOptions({
  queryKey: ["tasks", filter, pages],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/tasks", { params: { query: { limit: PAGE, ...filter, cursor } }, signal })),
    (page) => page.tasks,
    pages,
  ),
  placeholderData: keepPreviousData,
});

export const taskQuery = (id: string) => queryOptions({
  queryKey: ["task", id],
  queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}", { params: { path: { id } }, signal })),
});

export const agentsQuery = () => queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => ask(api.GET("/api/agents", { signal })),
});

export const mcpServersQuery = () => queryOptions({
  queryKey: ["mcp"],
  queryFn: ({ signal }) => ask(api.GET("/api/mcp/servers", { signal })),
});

export const healthQuery = () => queryOptions({
  queryKey: ["health"],
  queryFn: ({ signal }) => ask(api.GET("/api/health", { signal })),
});

export const notificationsQuery = (limit: number) => queryOptions({
  queryKey: ["notifications", limit],
  queryFn: ({ signal }) => ask(api.GET("/api/notifications", { params: { query: { limit } }, signal })),
  placeholderData: keepPreviousData,
});

export const searchQuery = (q: string) => queryOptions({
  queryKey: ["search", q],
  queryFn: ({ signal }) => ask(api.GET("/api/search", { params: { query: { q, limitTopics: 5, limitTasks: 8, limitLogs: 8, limitNotes: 3 } }, signal })),
  enabled: q.trim() !== "",
  // A search costs more than a read, and what it found a minute ago is still worth opening.
  gcTime: 60_000,
  placeholderData: keepPreviousData,
});
