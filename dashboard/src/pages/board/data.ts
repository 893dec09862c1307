// The tasks of the board: filtered, in columns, and as a tree. Pure functions.

import type { Task } from "../../data/api";
import { COLUMNS, type ColumnStatus } from "../../data/moves";
import { instant } from "../../data/words";
import type { BoardSearch } from "./address";

const DAY_MS = 86_400_000;

export const byPlace = (one: Task, other: Task): number =>
  one.position - other.position || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);

/** Return the tasks of each column, in their order. */
export function columnsOf(tasks: Task[]): Record<ColumnStatus, Task[]> {
  const columns = Object.fromEntries(COLUMNS.map((status) => [status, [] as Task[]])) as Record<ColumnStatus, Task[]>;
  for (const task of tasks) if (task.status !== "archived") columns[task.status].push(task);
  for (const status of COLUMNS) columns[status].sort(byPlace);
  return columns;
}

/** Return the tasks that the filters of the address leave. */
export function filtered(tasks: Task[], search: BoardSearch, now: number): Task[] {
  const words = search.q?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];
  return tasks.filter((task) =>
    (!search.space || task.spaceId === search.space)
    && (!search.topic || (search.topic === "none" ? task.topicId === null : task.topicId === search.topic))
    && (!search.agent || (search.agent === "nobody" ? task.assignedAgentIds.length + task.assignedUserIds.length === 0 : task.assignedAgentIds.includes(search.agent)))
    && (!search.person || task.assignedUserIds.includes(search.person))
    && (!search.tag || task.tags.includes(search.tag))
    && (search.sub !== "no" || task.parentId === null)
    && dueMatches(task, search.due, now)
    && (words.length === 0 || matches(task, words)));
}

function matches(task: Task, words: string[]): boolean {
  const text = `${task.title}\n${task.description}\n${task.tags.join(" ")}\n${task.blockedReason ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function dueMatches(task: Task, due: BoardSearch["due"], now: number): boolean {
  if (due === undefined) return true;
  const at = instant(task.dueDate);
  if (due === "none") return at === null;
  if (at === null) return false;
  const endOfToday = new Date(now).setHours(24, 0, 0, 0);
  if (due === "overdue") return at < now && task.status !== "done";
  return at < (due === "today" ? endOfToday : endOfToday + 6 * DAY_MS) && at >= new Date(now).setHours(0, 0, 0, 0);
}

export type Branch = { task: Task; depth: number; children: number };

/** Return the tasks as a tree, flat: every task under its parent, children of closed ones left out. Trees come first. */
export function treeOf(tasks: Task[], closed: ReadonlySet<string>): Branch[] {
  const known = new Set(tasks.map((task) => task.id));
  const under = new Map<string | null, Task[]>();
  const parents = new Set(tasks.map(({ parentId }) => parentId));
  const weight = ({ id, status }: Task): number => (parents.has(id) ? 0 : status === "done" ? 2 : 1);
  for (const task of [...tasks].sort((one, other) => (one.taskIndex ?? 0) - (other.taskIndex ?? 0) || weight(one) - weight(other) || byPlace(one, other))) {
    // A task whose parent is not shown stands by itself.
    const parent = task.parentId !== null && known.has(task.parentId) ? task.parentId : null;
    under.set(parent, [...(under.get(parent) ?? []), task]);
  }
  const rows: Branch[] = [];
  const seen = new Set<string>();
  const add = (parent: string | null, depth: number): void => {
    for (const task of under.get(parent) ?? []) {
      if (seen.has(task.id)) continue;
      seen.add(task.id);
      rows.push({ task, depth, children: under.get(task.id)?.length ?? 0 });
      if (!closed.has(task.id)) add(task.id, depth + 1);
    }
  };
  add(null, 0);
  return rows;
}
