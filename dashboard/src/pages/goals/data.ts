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
