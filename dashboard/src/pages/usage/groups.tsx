// Usage by agent, model, task or session; opening a row shows only that.

import { Link } from "@tanstack/react-router";
import type { Agent, Shapes } from "../../data/api";
import { compact, nameOfKey, splitKey } from "../../data/words";
import { type Column, Table } from "../../ui/table";
import type { Group, UsageSearch } from "./address";
import { duration, money, type Row, usedOf } from "./queries";

type Props = { report: Shapes["UsageReport"]; by: Group; name: string; agents: Agent[]; set: (change: UsageSearch) => void };

export function Groups({ report, by, name, agents, set }: Props) {
  const most = Math.max(1, ...report.usage.map((row) => tokensOf(row)));
  const nameOf = (row: Row): string => {
    if (by === "agent") return agents.find(({ id }) => id === row.agentId)?.name ?? row.agentId ?? "";
    if (by === "model") return row.model || "No model";
    return row.title || (row.sessionKey ? nameOfKey(row.sessionKey) : "No task");
  };
  const only = (row: Row): UsageSearch => ({ agent: { agent: row.agentId }, model: { model: row.model }, task: { task: row.taskId ?? undefined }, session: { session: row.sessionKey } })[by];
  const columns: Column<Row>[] = [
    {
      name,
      cell: (row) => (
        <div className="grid min-w-0 gap-1 py-0.5">
          <span className="truncate">{nameOf(row)} <Where row={row} /></span>
          <span aria-hidden="true" className="h-1 max-w-80 rounded-full bg-rule"><span className="block h-full rounded-full bg-green" style={{ width: `${(tokensOf(row) / most) * 100}%` }} /></span>
        </div>
      ),
      className: "max-w-0 w-full",
    },
    { name: "Runs", className: `${RIGHT} max-sm:hidden`, cell: (row) => usedOf(row).runs.toLocaleString("en") },
    { name: "Input", className: RIGHT, cell: (row) => compact(usedOf(row).inputTokens) },
    { name: "Cached", className: `${RIGHT} max-md:hidden`, cell: (row) => compact(usedOf(row).cachedTokens) },
    { name: "Output", className: `${RIGHT} max-sm:hidden`, cell: (row) => compact(usedOf(row).outputTokens) },
    { name: "Time", className: `${RIGHT} max-md:hidden`, cell: (row) => duration(usedOf(row).seconds) },
    { name: "Cost", className: RIGHT, cell: (row) => money(usedOf(row).costUsd) },
  ];
  return (
    <>
      <Table name={`Usage by ${by}`} rows={report.usage} columns={columns} idOf={(row) => row.sessionKey ?? row.taskId ?? row.model ?? row.agentId ?? "none"} titleOf={nameOf} onOpen={(row) => set(only(row))} />
      {report.more && <p className="note pt-2">There are more; these used the most.</p>}
    </>
  );
}

const RIGHT = "text-right text-sm tabular-nums whitespace-nowrap";

const tokensOf = (row: Row): number => usedOf(row).inputTokens + usedOf(row).outputTokens;

function Where({ row }: { row: Row }) {
  if (row.sessionKey) return <Link to="/chat/$" params={{ _splat: row.sessionKey }} className="note underline">{splitKey(row.sessionKey).agent}</Link>;
  if (row.taskId) return <Link to="/tasks/$id" params={{ id: row.taskId }} className="note underline">open</Link>;
  return null;
}
