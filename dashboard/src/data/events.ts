// The events of the stream, and what each changes in the query cache.

import type { CarrelEvent } from "carrel-client";
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { Notification, Task } from "./api";
import type { Feed } from "./feed";

// What to read again, by the part of the name before the dot. A query's key begins with the kind of what it holds and, where
// it is about one thing, the id or key of that: ["runs", filter], ["run", id, "receipt"], ["session", key, "history"].
const AFFECTED: Record<string, (event: CarrelEvent) => QueryKey[]> = {
  run: ({ name, runId, sessionKey, taskId }) => [
    ["runs"], ["sessions"], ["agents"], ["health"], ["mcp"], ...(ENDS.has(name) ? [["usage"], ["budgets"], ["schedules"]] : []), ...about("run", runId), ...about("session", sessionKey), ...about("task", taskId),
  ],
  announce: ({ runId }) => [["runs"], ...about("run", runId)],
  session: ({ sessionKey, taskId }) => [["sessions"], ...about("session", sessionKey), ...about("task", taskId)],
  task: ({ taskId, data }) => [["tasks"], ...about("task", taskId), ...ofPlan(data["task"] as Task | undefined)],
  topic: ({ topicId }) => [["topics"], ...about("topic", topicId)],
  space: () => [["spaces"], ["topics"], ["tasks"]],
  log: ({ sessionKey, taskId, topicId }) => [["log"], ...about("session", sessionKey), ...about("task", taskId), ...about("topic", topicId)],
  digest: ({ taskId, topicId }) => [...about("task", taskId), ...about("topic", topicId)],
  notification: () => [["notifications"]],
  plan: ({ sessionKey, taskId }) => [["plans"], ["goals"], ...about("session", sessionKey), ...about("task", taskId)],
  plan_mode: ({ sessionKey }) => [["plans"], ["sessions"], ...about("session", sessionKey)],
  auto: ({ sessionKey }) => [["auto"], ...about("session", sessionKey)],
  goal: () => [["goals"]],
  schedule: () => [["schedules"]],
  memory: () => [["memory"]],
  context: ({ runId }) => about("run", runId),
  agent: ({ agentId }) => [["agents"], ...about("agent", agentId)],
  pointer: () => [["recent"]],
  user: () => [["users"], ["tokens"], ["people"]],
  token: () => [["tokens"]],
  budget: () => [["budgets"]],
  webhook: () => [["webhooks"]],
  account: () => [["account"], ["agents"]],
  settings: () => [["settings"], ["health"], ["agents"], ["mcp"]],
};

// What a run used, and how a schedule went, is known when the run has ended; what it used also when it is held.
const ENDS = new Set(["run.completed", "run.failed", "run.cancelled", "run.held"]);

function about(kind: string, id: string | null): QueryKey[] {
  return id === null ? [] : [[kind, id]];
}

/** Goals and plans show the tasks that lead to them. */
function ofPlan(task: Task | undefined): QueryKey[] {
  return task?.goalId || task?.planId ? [["goals"], ["plans"]] : [];
}

/** Return the keys of the queries that an event makes out of date. */
export function affectedBy(event: CarrelEvent): QueryKey[] {
  return AFFECTED[event.name.split(".")[0] ?? ""]?.(event) ?? [];
}

// Events come in bursts: the first is answered at once, those that follow together.
const BURST_MS = 150;

/** Keep the cache true to the feed; returns how to stop. */
export function follow(feed: Feed, cache: QueryClient): () => void {
  let waiting = new Map<string, QueryKey>();
  let timer = 0;

  function flush(): void {
    const due = waiting;
    waiting = new Map();
    for (const [text, queryKey] of due) {
      // A read that is under way may have missed the change, so it is made again when it is done, and not cut off:
      // under constant change it would never end.
      if (cache.isFetching({ queryKey }) > 0) waiting.set(text, queryKey);
      else void cache.invalidateQueries({ queryKey });
    }
    timer = due.size === 0 ? 0 : window.setTimeout(flush, BURST_MS);
  }

  const unlisten = feed.listen((notice) => {
    if (notice.kind === "reset") {
      void cache.invalidateQueries();
      return;
    }
    patch(cache, notice.event);
    for (const key of affectedBy(notice.event)) waiting.set(JSON.stringify(key), key);
    if (timer === 0) flush();
  });
  // What could not be read while the server was away is read when it is back; nobody has to ask for it.
  const unlistenState = feed.listenState(() => {
    if (feed.state === "live") void cache.invalidateQueries({ predicate: ({ state }) => state.error !== null });
  });
  return () => {
    clearTimeout(timer);
    unlisten();
    unlistenState();
  };
}

/** Put what an event carries into the lists that show it, before they are read again. */
function patch(cache: QueryClient, { name, data }: CarrelEvent): void {
  const task = data["task"] as Task | undefined;
  if (name.startsWith("task.") && task !== undefined) {
    cache.setQueriesData<{ tasks: Task[] }>({ queryKey: ["tasks"] }, (page) => withRow(page, "tasks", task));
    cache.setQueriesData<{ task: Task }>({ queryKey: ["task", task.id], exact: true }, (page) => page && { ...page, task });
  }
  const notification = data["notification"] as Notification | undefined;
  if (notification !== undefined) {
    cache.setQueriesData<{ notifications: Notification[] }>({ queryKey: ["notifications"] }, (page) => withRow(page, "notifications", notification));
  }
}

/** Return the page with this row in place of the one with its id; a page without it stays as it is. */
function withRow<Name extends string, Row extends { id: string }, Page extends Record<Name, Row[]>>(
  page: Page | undefined,
  name: Name,
  row: Row,
): Page | undefined {
  if (page === undefined || !Array.isArray(page[name])) return page;
  return { ...page, [name]: page[name].map((each) => (each.id === row.id ? row : each)) };
}
