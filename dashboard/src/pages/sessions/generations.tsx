// The generations of a session: each begins without what was said before.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Session } from "../../data/api";
import { Age } from "../../ui/age";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { generationsQuery } from "./data";

const REASONS: Record<string, string> = {
  task_done: "its task was done", task_archived: "its task was archived", reset: "it was reset", deleted: "it was deleted", archived: "it was archived",
  agent_disabled: "the agent was disabled", rotated: "a new one took over",
};

const COLUMNS: Column<Session>[] = [
  { name: "Generation", bare: true, cell: (row) => <Link to="." search={{ generation: row.generation }} className="underline">Generation {row.generation}</Link>, className: "whitespace-nowrap" },
  { name: "State", cell: (row) => <StateBadge state={row.state} />, className: "whitespace-nowrap" },
  { name: "Opened", cell: (row) => <Age at={row.openedAt} ago className="text-soft" />, className: "whitespace-nowrap" },
  { name: "Closed", cell: (row) => <Age at={row.closedAt} ago className="text-soft" />, className: "whitespace-nowrap max-sm:hidden" },
  { name: "Why", cell: (row) => <span className="text-soft">{row.closedReason ? (REASONS[row.closedReason] ?? row.closedReason) : ""}</span>, className: "w-full max-sm:hidden" },
];

export function Generations({ sessionKey }: { sessionKey: string }) {
  return (
    <Loaded query={useQuery(generationsQuery(sessionKey))}>
      {({ sessions }) => sessions.length === 0
        ? <Empty title="Nothing was said here yet."><p>The first message opens generation 1.</p></Empty>
        : <Table name="Generations" rows={sessions} columns={COLUMNS} idOf={(row) => String(row.generation)} titleOf={(row) => `generation ${row.generation}`} />}
    </Loaded>
  );
}
