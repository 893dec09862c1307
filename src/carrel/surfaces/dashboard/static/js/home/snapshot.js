// The data behind Home: lanes and runs read from the API and combined. No elements here.

import { readAll } from "../api.js";
import { firstLine, instant, laneName, laneTitle, isNoReply, splitKey } from "../format.js";

const PAGE = 200;
const FAILED_PAGE = 50;

/** Read everything Home shows; `failedShown` is how many failures the user has asked for. */
export async function readHome({ failedShown, signal }) {
  const [sessions, running, waiting, failed] = await Promise.all([
    readAll("/api/sessions", { limit: PAGE, messageLimit: 1 }, "sessions", { signal }),
    readAll("/api/runs", { state: "running", limit: PAGE }, "runs", { signal }),
    readAll("/api/runs", { state: "waiting", limit: PAGE }, "runs", { signal }),
    readAll("/api/runs", { state: "failed", limit: FAILED_PAGE }, "runs", { pages: Math.ceil(failedShown / FAILED_PAGE), signal }),
  ]);
  // A run that waits for a program's tool output does not need a person.
  const isForPeople = (run) => run.waitingFor !== "tool_output";
  const lanes = lanesOf(sessions.rows, running.rows, waiting.rows.filter(isForPeople));
  const titles = new Map(lanes.map((lane) => [lane.key, lane.title]));
  const named = (run) => ({ ...run, laneTitle: titles.get(run.sessionKey) ?? laneName(run.sessionKey) });
  const forPeople = waiting.rows.filter(isForPeople).map(named);
  return {
    lanes,
    moreLanes: sessions.more,
    waiting: forPeople,
    failed: failed.rows.map(named),
    moreFailed: failed.more,
    counts: {
      busy: lanes.filter((lane) => lane.state === "busy").length,
      queued: lanes.reduce((sum, lane) => sum + lane.queued, 0),
      waiting: forPeople.length,
      programs: waiting.rows.length - forPeople.length,
      failed: failed.rows.length,
    },
  };
}

/** Combine session rows with their runs; a lane with an open question is waiting, not idle. */
export function lanesOf(rows, running, waiting) {
  const active = new Map(running.map((run) => [run.sessionKey, run]));
  const asking = new Map(waiting.map((run) => [run.sessionKey, run]));
  return rows.map((row) => laneOf(row, active, asking)).sort(byUrgency);
}

function laneOf(row, active, asking) {
  const key = row.sessionKey ?? row.key;
  const run = active.get(key) ?? null;
  const question = asking.get(key) ?? null;
  const state = row.state === "closed" ? "closed" : run !== null || row.state === "busy" ? "busy" : question !== null ? "waiting" : "idle";
  return {
    key,
    state,
    run,
    question,
    agent: row.agentSlug ?? row.agentId ?? splitKey(key).agent,
    title: laneTitle(row),
    name: laneName(key),
    kind: row.kind ?? "",
    channel: row.channel ?? "",
    generation: row.generation ?? 0,
    queued: row.queuedRuns ?? 0,
    openedAt: row.openedAt,
    lastAt: row.updatedAt,
    latest: run !== null ? firstLine(run.message?.text) : question !== null ? firstLine(question.reply ?? question.note) : lastMessage(row),
  };
}

function lastMessage(row) {
  const content = row.messages?.at(-1)?.content;
  const text = typeof content === "string" ? content : content?.find((part) => part.type === "text")?.text;
  return isNoReply(text) ? "" : firstLine(text);
}

const URGENCY = { busy: 0, waiting: 1, idle: 3, closed: 4 };

function byUrgency(one, other) {
  return rank(one) - rank(other) || (instant(other.lastAt) ?? 0) - (instant(one.lastAt) ?? 0) || one.key.localeCompare(other.key);
}

const rank = (lane) => (lane.state === "idle" && lane.queued > 0 ? 2 : URGENCY[lane.state]);

/** Tell whether every word of the filter occurs in what the row shows. */
export function passes(lane, filter) {
  const shown = [lane.agent, lane.title, lane.name, lane.key, lane.kind, lane.channel, lane.state, lane.latest].join(" ").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => shown.includes(word));
}
