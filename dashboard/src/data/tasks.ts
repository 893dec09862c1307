// Tasks: the list that the board and the pages around it share, and the changes of a task.

import { queryOptions } from "@tanstack/react-query";
import type { CarrelEvent } from "carrel-client";
import { useCallback } from "react";
import { useAction } from "./action";
import { api, ask, readAll, type Shapes, type Task } from "./api";
import { cache } from "./cache";
import { useEvents } from "./feed";
import type { Status } from "./moves";

const PAGE = 500;
const PAGES_MOST = 10;

export type Board = { rows: Task[]; more: boolean };

export const BOARD_KEY = ["board"] as const;

export const boardQuery = () => queryOptions({
  queryKey: BOARD_KEY,
  queryFn: ({ signal }): Promise<Board> => readAll(
    (cursor) => ask(api.GET("/api/tasks", { params: { query: { sort: "position", limit: PAGE, cursor } }, signal })),
    (page) => page.tasks,
    PAGES_MOST,
  ),
});

/** Put tasks into every list and page that shows them, as they are now; archived ones leave the board. */
function putTasks(tasks: Task[]): void {
  const changed = new Map(tasks.map((task) => [task.id, task]));
  cache.setQueryData<Board>(BOARD_KEY, (board) => {
    if (board === undefined) return board;
    // A task keeps its place among the rows: the cache compares each row with the one that stood there.
    const rows = board.rows.map((each) => changed.get(each.id) ?? each);
    const known = new Set(board.rows.map(({ id }) => id));
    rows.push(...tasks.filter(({ id }) => !known.has(id)));
    return { ...board, rows: rows.filter(({ status }) => status !== "archived") };
  });
  for (const task of tasks) cache.setQueryData<{ task: Task }>(["task", task.id], (page) => page && { ...page, task });
}

/** Put a task into every list and page that shows it, after what the feed told before. */
export function putTask(task: Task): void {
  live.flush();
  putTasks([task]);
}

// Events come in bursts: the first is shown at once, those that follow together.
const BURST_MS = 100;

class LiveTasks {
  #waiting = new Map<string, Task>();
  #timer = 0;

  take(task: Task): void {
    this.#waiting.set(task.id, task);
    if (this.#timer === 0) this.#pass();
  }

  flush(): void {
    const due = [...this.#waiting.values()];
    this.#waiting.clear();
    if (due.length > 0) putTasks(due);
  }

  #pass = (): void => {
    this.#timer = this.#waiting.size === 0 ? 0 : window.setTimeout(this.#pass, BURST_MS);
    this.flush();
  };
}

const live = new LiveTasks();

/** Keep the board true to the feed. A thousand tasks are not read again because one has changed. */
export function useLiveBoard(): void {
  useEvents(useCallback((event: CarrelEvent | null) => {
    const task = event?.data["task"] as Task | undefined;
    if (task !== undefined && event?.name.startsWith("task.")) live.take(task);
    else if (event?.name.startsWith("space.") || event?.name === "topic.deleted") void cache.invalidateQueries({ queryKey: BOARD_KEY });
  }, []));
}

/** Next to which task of its new column a task is put; without either it comes first. */
export type Place = { beforeId?: string; afterId?: string };
export type Move = { task: Task; to: Status; place?: Place; position?: number; reason?: string; agentIds?: string[]; userIds?: string[] };

const keysOf = ({ task }: { task: Task }) => [["task", task.id] as const, BOARD_KEY];

/** Return how to move a task, or only to put it elsewhere in its column. */
export function useMove() {
  return useAction({
    act: moved,
    failed: "The task was not moved",
    optimistic: {
      keys: keysOf,
      change: ({ task, to, position, reason, agentIds, userIds }: Move) => putTask({
        ...task,
        status: to,
        position: position ?? task.position,
        blockedReason: to === "blocked" ? (reason ?? null) : null,
        assignedAgentIds: agentIds ?? (to === "inbox" ? [] : task.assignedAgentIds),
        assignedUserIds: userIds ?? (to === "inbox" ? [] : task.assignedUserIds),
      }),
    },
    done: (task: Task) => putTask(task),
  });
}

async function moved({ task, to, place = {}, reason, agentIds, userIds }: Move): Promise<Task> {
  const path = { params: { path: { id: task.id } } };
  if (task.status === "done" && to === "review") {
    const { task: opened } = await ask(api.POST("/api/tasks/{id}/reopen", path));
    if (!place.beforeId && !place.afterId) return opened;
    return (await ask(api.PATCH("/api/tasks/{id}", { ...path, body: place }))).task;
  }
  const body: Shapes["TaskChange"] = { ...place };
  if (to !== task.status) Object.assign(body, { status: to, expectedStatus: task.status });
  if (reason !== undefined) body.blockedReason = reason;
  if (agentIds !== undefined) body.assignedAgentIds = agentIds;
  if (userIds !== undefined) body.assignedUserIds = userIds;
  return (await ask(api.PATCH("/api/tasks/{id}", { ...path, body }))).task;
}

export type Change = { task: Task; change: Omit<Shapes["TaskChange"], "status" | "expectedStatus" | "priority"> & { priority?: number } };

/** Return how to change what a task says: title, description, due date, priority, tags, topic, dependencies. */
export function useChange() {
  return useAction({
    act: async ({ task, change }: Change) => (await ask(api.PATCH("/api/tasks/{id}", { params: { path: { id: task.id } }, body: change }))).task,
    failed: "The task was not changed",
    optimistic: { keys: keysOf, change: ({ task, change }) => putTask({ ...task, ...change }) },
    done: putTask,
  });
}

export type Assignment = { task: Task; agentIds?: string[]; userIds?: string[]; remove?: boolean };

/** Return how to give a task to somebody, or to take it away. */
export function useAssign() {
  return useAction({
    act: async ({ task, ...body }: Assignment) => (await ask(api.POST("/api/tasks/{id}/assign", { params: { path: { id: task.id } }, body }))).task,
    failed: "The assignees were not changed",
    done: putTask,
  });
}

/** Return how to make a task. */
export function useCreate(done?: (task: Task) => void) {
  return useAction({
    act: async (body: Shapes["NewTask"]) => (await ask(api.POST("/api/tasks", { body }))).task,
    failed: "The task was not created",
    done: (task) => {
      putTask(task);
      done?.(task);
    },
  });
}
