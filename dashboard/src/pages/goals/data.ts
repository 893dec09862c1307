// Goals and plans of a session, and which sessions have some.

import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask, readAll, type Session, type Shapes, type Task } from "../../data/api";
import { sessionsQuery } from "../../data/queries";
import { boardQuery } from "../../data/tasks";

export type Goal = Shapes["GoalShape"];
export type Plan = Shapes["PlanShape"];

const GOALS_FOUND_MOST = 40;
// Sessions that machines open for one piece of work have no goals of their own.
const MACHINE_MADE = /:(subagent|cron|hook|task|openresponses[^:]*):/;

export const goalsQuery = (session: string) => queryOptions({
  queryKey: ["goals", session],
  queryFn: async ({ signal }) => (await readAll(
    (cursor) => ask(api.GET("/api/goals", { params: { query: { sessionId: session, cursor } }, signal })),
    (page) => page.goals,
  )).rows,
});

export const plansQuery = (session: string) => queryOptions({
  queryKey: ["plans", session],
  queryFn: ({ signal }) => ask(api.GET("/api/plans", { params: { query: { sessionId: session } }, signal })),
});

const goalQuery = (id: string) => queryOptions({
  queryKey: ["goals", "one", id],
  queryFn: ({ signal }) => ask(api.GET("/api/goals/{id}", { params: { path: { id }, query: {} }, signal })),
});

export type Choice = { session: Session; goals: number; planning: boolean };

/** Return the sessions that a person may look at, those with goals or plans first. Goals are found by the tasks that lead to them. */
export function useSessions(): { choices: Choice[]; ready: boolean } {
  const sessions = useQuery(sessionsQuery({}, 1));
  const tasks = useQuery(boardQuery());
  const ids = useMemo(() => [...new Set((tasks.data?.rows ?? []).flatMap(({ goalId }) => goalId ?? []))].slice(0, GOALS_FOUND_MOST), [tasks.data]);
  const found = useQueries({ queries: ids.map(goalQuery), combine: (all) => all.flatMap(({ data }) => data?.goal.sessionId ?? []) });
  const choices = useMemo(() => (sessions.data?.rows ?? [])
    .filter(({ key }) => !MACHINE_MADE.test(key))
    .map((session): Choice => ({
      session,
      goals: found.filter((id) => session.key.endsWith(`:${id}`) || session.key === id || session.sessionId === id).length,
      planning: session.planMode.enabled || session.planMode.activePlanId !== null,
    }))
    .sort((one, other) => weight(other) - weight(one) || other.session.updatedAt - one.session.updatedAt), [sessions.data, found]);
  return { choices, ready: sessions.data !== undefined };
}

const weight = ({ goals, planning }: Choice): number => (goals > 0 || planning ? 1 : 0);

/** Return tasks as they are now: plans say how they were when the plan changed, the board how they are. */
export function useNow(tasks: Task[]): Task[] {
  const rows = useQuery(boardQuery()).data?.rows;
  return useMemo(() => {
    const now = new Map(rows?.map((task) => [task.id, task]));
    return tasks.map((task) => now.get(task.id) ?? task);
  }, [tasks, rows]);
}

export type Node = { task: Task; x: number; y: number };
export type Graph = { nodes: Node[]; edges: { from: Node; to: Node }[]; width: number; height: number };

export const BOX = { width: 184, height: 58, gapX: 44, gapY: 14 };

/** Lay tasks out from left to right: each one column behind the last of those it waits for. */
export function layOut(tasks: Task[]): Graph {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const depths = new Map<string, number>();
  const depthOf = (task: Task, above: ReadonlySet<string>): number => {
    const stored = depths.get(task.id);
    if (stored !== undefined) return stored;
    const before = task.dependencies.flatMap((id) => (above.has(id) ? [] : known.get(id) ?? []));
    const depth = before.reduce((most, each) => Math.max(most, depthOf(each, new Set([...above, task.id])) + 1), 0);
    depths.set(task.id, depth);
    return depth;
  };
  const rows: number[] = [];
  const nodes = new Map<string, Node>();
  for (const task of tasks) {
    const depth = depthOf(task, new Set([task.id]));
    const row = rows[depth] ?? 0;
    rows[depth] = row + 1;
    nodes.set(task.id, { task, x: depth * (BOX.width + BOX.gapX), y: row * (BOX.height + BOX.gapY) });
  }
  centre([...nodes.values()], rows);
  const edges = [...nodes.values()].flatMap((to) => to.task.dependencies.flatMap((id) => {
    const from = nodes.get(id);
    return from ? [{ from, to }] : [];
  }));
  return {
    nodes: [...nodes.values()], edges,
    width: rows.length * (BOX.width + BOX.gapX) - BOX.gapX,
    height: Math.max(1, ...rows) * (BOX.height + BOX.gapY) - BOX.gapY,
  };
}

/** Put short columns in the middle of the tallest. */
function centre(nodes: Node[], rows: number[]): void {
  const tallest = Math.max(1, ...rows);
  for (const node of nodes) {
    const count = rows[Math.round(node.x / (BOX.width + BOX.gapX))] ?? tallest;
    node.y += ((tallest - count) * (BOX.height + BOX.gapY)) / 2;
  }
}
