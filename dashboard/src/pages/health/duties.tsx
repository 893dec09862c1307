// Background work of the server: when each duty last did something, when it is next due, and whether it fails.

import type { Shapes } from "../../data/api";
import { capital, plural } from "../../data/words";
import { Age } from "../../ui/age";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";

type Duty = Shapes["DutyState"];

const WORDS: Record<string, string> = {
  auto_ticks: "lets agents in auto mode go on", classifier: "sorts what is said into topics", cleanup: "removes sessions of sub-agents that are over",
  exchanges: "brings results back to who asked", extractions: "keeps facts from conversations", followups: "reminds of what was promised",
  heartbeats: "wakes agents now and then", ingests: "takes in what programs report", plans: "starts the next tasks of plans",
  posts: "posts to channels", task_run_ends: "takes up work whose run has ended", schedules: "fires schedules", search: "keeps the index of search",
  search_rebuilds: "builds the index anew", announcements: "posts results of sub-agents to channels", stalls: "notices work that has stopped", webhooks: "calls webhooks",
};

const COLUMNS: Column<Duty>[] = [
  {
    name: "Duty",
    cell: (duty) => (
      <div className="py-0.5">
        <span className="whitespace-nowrap">{capital(duty.name.replaceAll("_", " "))}</span> <span className="note max-sm:hidden">{WORDS[duty.name]}</span>
        {duty.lastError && <span className="complaint block wrap-anywhere">{duty.lastError}</span>}
      </div>
    ),
  },
  { name: "Last at work", className: "text-right text-sm whitespace-nowrap sm:w-32", cell: (duty) => (duty.lastAt ? <Age at={duty.lastAt} ago /> : <span className="text-soft">not yet</span>) },
  { name: "Next due", className: "text-right text-sm whitespace-nowrap sm:w-36", cell: (duty) => <Next at={duty.nextAt} /> },
  { name: "Failures", className: "w-24 text-right text-sm max-sm:hidden", cell: (duty) => (duty.failures > 0 ? <StateBadge state="degraded" label={plural(duty.failures, "time")} /> : <span className="text-soft">none</span>) },
];

function Next({ at }: { at: string | null }) {
  if (at === null) return <span className="text-soft">when needed</span>;
  const due = new Date(at);
  return due.getTime() <= Date.now() ? <>now</> : <time dateTime={at} title={due.toLocaleString()}>{due.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</time>;
}

export function Duties({ duties }: { duties: Duty[] }) {
  return <Table name="Duties" rows={duties} columns={COLUMNS} idOf={({ name }) => name} titleOf={({ name }) => name} />;
}
