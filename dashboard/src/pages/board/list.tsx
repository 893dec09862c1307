// The board as a list, newest change first, and as a tree of tasks and sub-tasks.

import { useMemo, useState } from "react";
import type { Task } from "../../data/api";
import { STATUS_NAMES } from "../../data/moves";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { type Around, DueDate } from "./card";
import { type Branch, treeOf } from "./data";

type Props = {
  tasks: Task[];
  around: Around;
  topicName: (id: string | null) => string;
  chosen: ReadonlySet<string>;
  peek: string | undefined;
  onOpen: (task: Task) => void;
  onChosen: (chosen: ReadonlySet<string>) => void;
};

export function List({ tasks, ...props }: Props) {
  const rows = useMemo(
    () => [...tasks].sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1)).map((task): Branch => ({ task, depth: 0, children: 0 })),
    [tasks],
  );
  return <Rows name="Tasks" rows={rows} {...props} />;
}

export function Tree({ tasks, ...props }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeOf(tasks, closed), [tasks, closed]);
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    setClosed(next);
  };
  return <Rows name="Tasks and sub-tasks" rows={rows} {...props} closed={closed} onToggle={toggle} />;
}

type RowsProps = Omit<Props, "tasks"> & { name: string; rows: Branch[]; closed?: ReadonlySet<string>; onToggle?: (id: string) => void };

// Our own steps, because the content policy allows no style attributes in markup and a class must be known when we build.
const INDENT = ["", "pl-5", "pl-10", "pl-14", "pl-[4.5rem]", "pl-[5.5rem]"];

function Rows({ name, rows, around, topicName, chosen, peek, onOpen, onChosen, closed, onToggle }: RowsProps) {
  const columns: Column<Branch>[] = [
    {
      name: "Task",
      cell: ({ task, depth, children }) => (
        <span className={`flex items-center gap-1 ${INDENT[Math.min(depth, INDENT.length - 1)]}`}>
          {onToggle && (children > 0 ? (
            <Button weight="bare" small className="min-w-6! px-0!" aria-expanded={!closed?.has(task.id)} aria-label={`Sub-tasks of ${task.title}`} onClick={() => onToggle(task.id)}>
              <Icon name={closed?.has(task.id) ? "right" : "down"} className="size-4" />
            </Button>
          ) : <span className="w-6 shrink-0" />)}
          <span className="line-clamp-2 min-w-0 font-medium">{task.title}</span>
          {children > 0 && <span className="note shrink-0">{(around.parts.get(task.id) ?? [0, 0]).toReversed().join("/")}</span>}
        </span>
      ),
    },
    { name: "Status", cell: ({ task }) => <StateBadge state={task.status} label={STATUS_NAMES[task.status]} />, className: "w-32 max-sm:w-24" },
    { name: "Assigned to", cell: ({ task }) => <span className="line-clamp-1 text-sm">{[...task.assignedAgentIds, ...task.assignedUserIds].map(around.nameOf).join(", ")}</span>, className: "w-36 max-md:hidden" },
    { name: "Topic", cell: ({ task }) => <span className="note line-clamp-1">{topicName(task.topicId)}</span>, className: "w-36 max-lg:hidden" },
    { name: "Priority", cell: ({ task }) => (task.priority === 3 ? null : <span className={`text-[0.8125rem] ${task.priority < 3 ? "font-semibold text-brass" : "text-soft"}`}>{capital(task.priorityLabel)}</span>), className: "w-20 max-lg:hidden" },
    { name: "Due", cell: ({ task }) => <span className="text-[0.8125rem]"><DueDate task={task} /></span>, className: "w-24 max-md:hidden" },
    { name: "Changed", cell: ({ task }) => <Age at={task.updatedAt} ago className="note whitespace-nowrap" />, className: "w-24 max-sm:hidden" },
  ];
  return (
    <div className="min-w-0 flex-1 pb-24">
      <Table
        name={name} rows={rows} columns={columns} idOf={({ task }) => task.id} titleOf={({ task }) => task.title}
        onOpen={({ task }) => onOpen(task)} openId={peek ?? null} chosen={chosen} onChoose={onChosen}
      />
    </div>
  );
}
