// Goals and plans of a session, and which sessions have some.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask, readAll, type Session, type Shapes } from "../../data/api";
import { sessionsQuery } from "../../data/queries";

export type Goal = Shapes["GoalShape"];
export type Plan = Shapes["PlanShape"];

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

/** The goals of every session that the reader may see. */
const allGoalsQuery = () => queryOptions({
  queryKey: ["goals"],
  queryFn: async ({ signal }) => (await readAll(
    (cursor) => ask(api.GET("/api/goals", { params: { query: { all: true, cursor } }, signal })),
    (page) => page.goals,
  )).rows,
});

export type Choice = { session: Session; goals: Goal[]; planning: boolean };

/** Return the sessions that a person may look at, those with goals or plans first. */
export function useSessions(): { choices: Choice[]; ready: boolean; error: Error | null; retry: () => void } {
  const read = useQuery(sessionsQuery({}, 1));
  const sessions = read.data?.rows;
  const goals = useQuery(allGoalsQuery()).data;
  const choices = useMemo(() => (sessions ?? [])
    .map((session): Choice => ({
      session,
      goals: (goals ?? []).filter(({ sessionId: id }) => session.key.endsWith(`:${id}`) || session.key === id || session.sessionId === id),
      planning: session.planMode.enabled || session.planMode.activePlanId !== null,
    }))
    .filter((choice) => weight(choice) > 0 || !MACHINE_MADE.test(choice.session.key))
    .sort((one, other) => weight(other) - weight(one) || other.session.updatedAt - one.session.updatedAt), [sessions, goals]);
  return { choices, ready: sessions !== undefined, error: sessions === undefined ? read.error : null, retry: () => void read.refetch() };
}

export const weight = ({ goals, planning }: Choice): number => (goals.length > 0 || planning ? 1 : 0);
