// What needs a person: read from runs, tasks and notifications, and put into one list, the most urgent first.

import { useQueries, useQuery } from "@tanstack/react-query";
import type { Budget, Notification, Run, Task } from "../../data/api";
import { budgetsQuery, useIsOwner } from "../../data/budgets";
import { type Person, usersQuery } from "../../data/places";
import { notificationsQuery, runQuery, runsQuery, sessionsQuery, tasksQuery } from "../../data/queries";
import { capital, firstLine, instant, isLooping, nameOfKey, plural, splitKey, whyEnded } from "../../data/words";

export type Kind = "approval" | "question" | "loop" | "budget" | "review" | "mention" | "failed" | "undelivered" | "stalled";

export type Need = {
  id: string;
  kind: Kind;
  /** What it is about, in one line. */
  what: string;
  /** Why it is here, where `what` does not say. */
  why: string;
  /** Whose work it is. */
  agent: string;
  /** Where: the title of the session, or the people who have the task. */
  where: string;
  sessionKey: string | null;
  at: string | null;
  run?: Run;
  task?: Task;
  notification?: Notification;
  budget?: Budget;
};

export const KINDS: Kind[] = ["approval", "question", "loop", "budget", "review", "mention", "failed", "undelivered", "stalled"];
export const KIND_NAMES: Record<Kind, [one: string, many: string]> = {
  approval: ["Approval", "Approvals"],
  question: ["Question", "Questions"],
  loop: ["Loop", "Loops"],
  budget: ["Budget", "Budgets"],
  review: ["Review", "Reviews"],
  mention: ["Mention", "Mentions"],
  failed: ["Failed", "Failed"],
  undelivered: ["Undelivered", "Undelivered"],
  stalled: ["Stalled", "Stalled"],
};

const FAILED_READ = 100;
const NOTICES_READ = 200;
const UNDELIVERED_MOST = 20;
const FOR_ME = new Set(["mention", "response_request"]);

export type HomeData = {
  needs: Need[];
  running: Run[];
  queued: Run[];
  recent: Run[];
  /** How many runs wait for the program that sent their message. */
  programs: number;
  hasSessions: boolean;
  isReady: boolean;
  error: Error | null;
};

/** Read everything Home shows. */
export function useHome(): HomeData {
  const queries = [
    useQuery(runsQuery({ state: "waiting" })),
    useQuery(runsQuery({ state: "failed", limit: FAILED_READ }, 1)),
    useQuery(runsQuery({ state: "running" })),
    useQuery(runsQuery({ state: "queued" }, 1)),
    useQuery(runsQuery({ limit: 50 }, 1)),
  ] as const;
  const [waiting, failed, running, queued, recent] = queries.map((query) => (query.data?.rows ?? []) as Run[]);
  const reviews = useQuery(tasksQuery({ status: "review" }));
  const blocked = useQuery(tasksQuery({ status: "blocked" }));
  const notices = useQuery({ ...notificationsQuery(NOTICES_READ), retry: false });
  const sessions = useQuery(sessionsQuery({ limit: 1 }, 1));
  const budgets = useQuery({ ...budgetsQuery, enabled: useIsOwner() });
  const usedUp = (budgets.data?.budgets ?? []).filter((each) => each.state === "used_up" && each.action === "wait" && each.waiting > 0);
  const notifications = notices.data?.notifications ?? [];
  const undelivered = useUndelivered(notifications);
  const people = useQuery(usersQuery()).data ?? [];
  // A run that waits for a program's tool output does not need a person.
  const asked = (waiting ?? []).filter((run) => run.waitingFor !== "tool_output");
  const needs = [
    ...asked.map((run) => askedNeed(run)),
    ...(queued ?? []).filter(isLooping).map((run) => loopNeed(run)),
    ...usedUp.map(budgetNeed),
    ...(reviews.data?.rows ?? []).map((task) => taskNeed("review", task, people)),
    ...notifications.filter((each) => each.readAt === null && FOR_ME.has(each.type)).map(mentionNeed),
    ...(failed ?? []).map((run) => failedNeed(run)),
    ...undelivered.map((run) => ({ ...failedNeed(run), id: `undelivered-${run.id}`, kind: "undelivered" as const, why: "Its result did not reach where it was to be announced." })),
    ...(blocked.data?.rows ?? []).map((task) => taskNeed("stalled", task, people)),
  ].sort(byUrgency);
  return {
    needs, running: running ?? [], queued: queued ?? [], recent: recent ?? [],
    programs: (waiting ?? []).length - asked.length,
    hasSessions: (sessions.data?.rows.length ?? 0) > 0,
    isReady: queries.every((query) => query.data !== undefined) && sessions.data !== undefined,
    error: [...queries, reviews, blocked, sessions].find((query) => query.isError)?.error ?? null,
  };
}

/** Return the runs whose result still did not arrive, by the notifications that told so. */
function useUndelivered(notifications: Notification[]): Run[] {
  const ids = notifications.flatMap((each) => (each.type === "run_undelivered" && each.runId !== null ? [each.runId] : []));
  const runs = useQueries({ queries: [...new Set(ids)].slice(0, UNDELIVERED_MOST).map((id) => runQuery(id)) });
  return runs.flatMap(({ data }) => (data?.run.announce.state === "undelivered" ? [data.run] : []));
}

function ofRun(run: Run) {
  return { id: run.id, agent: run.agentId || splitKey(run.sessionKey).agent, where: run.sessionTitle, sessionKey: run.sessionKey, run };
}

function askedNeed(run: Run): Need {
  const kind = run.waitingFor === "approval" ? "approval" : "question";
  return { ...ofRun(run), kind, what: firstLine(run.reply || run.note) || "The agent is waiting.", why: "", at: run.startedAt ?? run.createdAt };
}

function loopNeed(run: Run): Need {
  return { ...ofRun(run), kind: "loop", what: run.lastFault?.message ?? "It does nothing new any more.", why: "", at: run.lastFault?.at ?? run.createdAt };
}

/** One for each budget, however much waits for it. */
function budgetNeed(budget: Budget): Need {
  const { name, title, subject, waiting } = budget;
  const what = `The budget ${name} of ${title} is used up.`;
  return { id: `budget-${name}-${subject ?? ""}`, kind: "budget", what, why: capital(`${plural(waiting, "session")} waiting for it`), agent: "", where: "", sessionKey: null, at: null, budget };
}

function failedNeed(run: Run): Need {
  const attempts = run.attempt === 1 ? "one attempt" : `${run.attempt} attempts`;
  return { ...ofRun(run), kind: "failed", what: firstLine(run.message.text) || "(no text)", why: `Failed after ${attempts}: ${whyEnded(run)}`, at: run.endedAt ?? run.createdAt };
}

function taskNeed(kind: "review" | "stalled", task: Task, people: Person[]): Need {
  const why = kind === "review" ? "" : (task.blockedReason ?? "It is blocked.");
  return { id: task.id, kind, what: task.title, why, agent: task.assignedAgentIds[0] ?? "", where: people.filter(({ id }) => task.assignedUserIds.includes(id)).map(({ name }) => name).join(", "), sessionKey: null, at: task.updatedAt, task };
}

function mentionNeed(notification: Notification): Need {
  const { id, title, body, sessionKey, createdAt } = notification;
  return { id, kind: "mention", what: title, why: firstLine(body), agent: "", where: sessionKey === null ? "" : nameOfKey(sessionKey), sessionKey, at: createdAt, notification };
}

function byUrgency(one: Need, other: Need): number {
  return KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) || (instant(other.at) ?? 0) - (instant(one.at) ?? 0);
}
