// The tasks of a plan as a graph: what waits for what, from left to right, with their present states.

import { useMemo } from "react";
import type { Task } from "../../data/api";
import { STATUS_NAMES } from "../../data/moves";
import { StateBadge } from "../../ui/state";
import { BOX, type Graph, layOut, type Node, pathOf } from "./layout";

const LOOKS: Record<string, string> = { done: "stroke-green", archived: "stroke-rule" };

export function TaskGraph({ tasks, name, onOpen }: { tasks: Task[]; name: string; onOpen: (id: string) => void }) {
  const graph = useMemo(() => layOut(tasks), [tasks]);
  return (
    <div className="overflow-x-auto py-3" role="group" aria-label={name} tabIndex={0}>
      <div className="relative" style={{ width: graph.width, height: graph.height }}>
        <Lines graph={graph} />
        <ol>
          {graph.nodes.map((node) => <Box key={node.task.id} node={node} titles={titlesOf(node.task, tasks)} onOpen={onOpen} />)}
        </ol>
      </div>
    </div>
  );
}

const titlesOf = (task: Task, all: Task[]): string => all.filter(({ id }) => task.dependencies.includes(id)).map(({ title }) => title).join(", ");

function Box({ node: { task, x, y }, titles, onOpen }: { node: Node; titles: string; onOpen: (id: string) => void }) {
  const look = task.status === "done" ? "border-green bg-green-wash" : task.status === "blocked" ? "border-red-edge bg-red-wash" : task.status === "in_progress" ? "border-green bg-leaf" : "border-rule bg-leaf";
  return (
    <li className="absolute" style={{ left: x, top: y, width: BOX.width, height: BOX.height }}>
      <button type="button" onClick={() => onOpen(task.id)} title={task.title} className={`grid size-full content-center gap-0.5 rounded-md border px-2.5 text-left hover:border-edge ${look}`}>
        <span className="line-clamp-2 text-sm leading-snug font-medium">{task.title}</span>
        <StateBadge state={task.status} label={STATUS_NAMES[task.status]} className="text-xs!" />
        {titles !== "" && <span className="sr-only">, waits for {titles}</span>}
      </button>
    </li>
  );
}

function Lines({ graph }: { graph: Graph }) {
  return (
    <svg aria-hidden="true" width={graph.width} height={graph.height} className="absolute inset-0 fill-none stroke-[1.5]">
      {graph.lines.map((line) => <path key={line.id} className={LOOKS[line.status] ?? "stroke-edge"} d={pathOf(line)} />)}
    </svg>
  );
}
