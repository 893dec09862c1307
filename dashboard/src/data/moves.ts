// The statuses of a task and the moves between them, as the server's own table has them. The server decides; this only
// keeps the dashboard from offering what would be refused.

import type { Task } from "./api";

export type Status = Task["status"];

export const COLUMNS = ["inbox", "assigned", "in_progress", "review", "blocked", "done"] as const;
export type ColumnStatus = (typeof COLUMNS)[number];

export const STATUS_NAMES: Record<Status, string> = {
  inbox: "Inbox", assigned: "Assigned", in_progress: "In progress", review: "Review", blocked: "Blocked", done: "Done", archived: "Archived",
};

export const MOVES: Record<Status, readonly Status[]> = {
  inbox: ["assigned", "archived"],
  assigned: ["in_progress", "blocked", "inbox", "archived"],
  in_progress: ["review", "blocked", "archived"],
  review: ["done", "in_progress", "blocked", "archived"],
  done: ["archived"],
  blocked: ["assigned", "in_progress", "archived"],
  archived: [],
};

// A way leads through none of these.
const ENDS: readonly Status[] = ["inbox", "blocked", "done", "archived"];
const NEEDS_ASSIGNEE: readonly Status[] = ["assigned", "in_progress"];

/** Return the shortest legal way from one status to another, without the first; null when there is none. */
export function wayTo(from: Status, to: Status): Status[] | null {
  // Reopening is a move of its own, which only people make.
  if (from === "done" && to === "review") return ["review"];
  const ways: Status[][] = [[]];
  const seen = new Set<Status>([from]);
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    for (const onward of MOVES[way.at(-1) ?? from]) {
      if (onward === to) return [...way, onward];
      if (seen.has(onward) || ENDS.includes(onward)) continue;
      seen.add(onward);
      ways.push([...way, onward]);
    }
  }
  return null;
}

export type Missing = "assignee" | "reason";

/** Return what a person still has to say before a task can move there. */
export function missingFor(task: Task, to: Status): Missing | null {
  if (to === "blocked") return "reason";
  const assigned = task.assignedAgentIds.length + task.assignedUserIds.length > 0;
  const needed = (wayTo(task.status, to) ?? []).some((status) => NEEDS_ASSIGNEE.includes(status));
  return needed && !assigned ? "assignee" : null;
}

/** Return where a task may go from where it is, in the order of the board. A move to Blocked of a task that nobody has is not one. */
export const movesOf = (task: Task): Status[] => [...COLUMNS, "archived" as const].filter((to) => to !== task.status && canMove(task, to));

/** Tell whether the server would move a task there, given what it may ask for. */
export function canMove(task: Task, to: Status): boolean {
  const way = wayTo(task.status, to);
  if (way === null) return false;
  // One form asks for one thing: a task without an assignee is assigned before it is blocked.
  return !(to === "blocked" && task.status === "inbox" && task.assignedAgentIds.length + task.assignedUserIds.length === 0);
}
