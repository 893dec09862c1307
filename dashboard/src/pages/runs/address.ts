// What the addresses of runs say: filters, the view, what is open, and on a run's page its tab.

import type { Run } from "../../data/api";

export const RUN_STATES: Run["state"][] = ["queued", "running", "waiting", "completed", "failed", "cancelled"];

export type RunsSearch = {
  view?: "timeline";
  state?: Run["state"];
  agent?: string;
  session?: string;
  task?: string;
  q?: string;
  /** "hidden" leaves queue time out of timelines. */
  queue?: "hidden";
  range?: string;
  peek?: string;
};

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));

export const runsSearch = (raw: Record<string, unknown>): RunsSearch => ({
  view: raw["view"] === "timeline" ? "timeline" : undefined,
  state: RUN_STATES.find((state) => state === raw["state"]),
  agent: text(raw["agent"]),
  session: text(raw["session"]),
  task: text(raw["task"]),
  q: text(raw["q"]),
  queue: raw["queue"] === "hidden" ? "hidden" : undefined,
  range: text(raw["range"]),
  peek: text(raw["peek"]),
});

/** `replay` is the run that sent a step of this one again. */
export type RunSearch = { tab?: "a2a"; queue?: "hidden"; replay?: string };

export const runSearch = (raw: Record<string, unknown>): RunSearch => ({
  tab: raw["tab"] === "a2a" ? "a2a" : undefined,
  queue: raw["queue"] === "hidden" ? "hidden" : undefined,
  replay: text(raw["replay"]),
});
