// A task on the board: what it is, who has it, and what it waits for. It can be dragged, chosen and opened.

import { useDraggable, useDroppable } from "@dnd-kit/core";
import { memo } from "react";
import type { Task } from "../../data/api";
import { dayOf, instant } from "../../data/words";
import { Age } from "../../ui/age";
import { Icon } from "../../ui/icon";

export type Pulse = "running" | "waiting";

/** What a card shows of the world around its task. */
export type Around = {
  nameOf: (id: string) => string;
  pulses: ReadonlyMap<string, Pulse>;
  /** How many sub-tasks a task has, and how many of them are done. */
  parts: ReadonlyMap<string, [number, number]>;
  /** The tasks that others depend on and that are not done. */
  open: ReadonlySet<string>;
};

/** The part of that which a card shows, in plain values: a card is drawn again only when one of them has changed. */
type Shown = { pulse: Pulse | undefined; parts: number; done: number; waits: number; names: string };

export function shownOf(task: Task, around: Around): Shown {
  const [parts, done] = around.parts.get(task.id) ?? [0, 0];
  const names = [...task.assignedAgentIds, ...task.assignedUserIds].map(around.nameOf);
  return {
    pulse: around.pulses.get(task.id), parts, done,
    waits: task.dependencies.filter((id) => around.open.has(id)).length,
    names: names.slice(0, 2).join(", ") + (names.length > 2 ? ` +${names.length - 2}` : ""),
  };
}

type Props = Shown & {
  task: Task;
  edge: "before" | "after" | null;
  chosen: boolean;
  choosing: boolean;
  peeked: boolean;
  onOpen: (task: Task) => void;
  onChoose: (id: string, range: boolean) => void;
};

export const Card = memo(function Card({ task, edge, chosen, choosing, peeked, onOpen, onChoose, ...shown }: Props) {
  const drag = useDraggable({ id: task.id, data: { task } });
  const drop = useDroppable({ id: `card:${task.id}`, data: { status: task.status, id: task.id, title: task.title } });
  return (
    <div
      ref={(node) => {
        drag.setNodeRef(node);
        drop.setNodeRef(node);
      }}
      {...drag.listeners}
      onKeyDown={undefined}
      data-task={task.id}
      className={`group relative mb-1.5 rounded-md border bg-leaf px-2.5 py-2 text-[0.8438rem] leading-snug shadow-[0_1px_1px_rgb(60_48_20/5%)] hover:border-edge ${peeked || chosen ? "border-green" : "border-rule"} ${chosen ? "bg-green-wash" : ""} ${drag.isDragging ? "opacity-40" : ""}`}
    >
      {edge && <span aria-hidden="true" className={`absolute inset-x-0 h-0.5 rounded bg-green ${edge === "before" ? "-top-1" : "-bottom-1"}`} />}
      <button
        ref={drag.setActivatorNodeRef}
        type="button"
        data-row=""
        aria-describedby={drag.attributes["aria-describedby"]}
        aria-current={peeked || undefined}
        className="block w-full text-left font-medium after:absolute after:inset-0 after:rounded-md focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-green"
        onClick={() => onOpen(task)}
        onKeyDown={(event) => {
          if (event.key === "x") onChoose(task.id, event.shiftKey);
          else drag.listeners?.["onKeyDown"]?.(event);
        }}
      >
        <span className="line-clamp-4">{task.title}</span>
      </button>
      <input
        type="checkbox"
        aria-label={`Choose ${task.title}`}
        tabIndex={choosing ? 0 : -1}
        checked={chosen}
        onChange={(event) => onChoose(task.id, (event.nativeEvent as MouseEvent).shiftKey)}
        onMouseDown={(event) => event.stopPropagation()}
        className={`absolute top-1.5 right-1.5 z-10 accent-green ${choosing ? "" : "opacity-0 group-hover:opacity-100 focus-visible:opacity-100"}`}
      />
      {task.status === "blocked" && task.blockedReason && <p className="mt-1 line-clamp-2 text-[0.8125rem] text-red">{task.blockedReason}</p>}
      <Facts task={task} {...shown} />
    </div>
  );
});

function Facts({ task, pulse, parts, done, waits, names }: { task: Task } & Shown) {
  if (!pulse && parts === 0 && waits === 0 && names === "" && task.priority === 3 && !task.dueDate && task.tags.length === 0) return null;
  return (
    <div className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-0.5 text-xs text-soft">
      {pulse === "running" && <span className="inline-flex items-center gap-1 font-semibold text-green"><span aria-hidden="true" className="size-2 animate-breathe rounded-full bg-green" />Working</span>}
      {pulse === "waiting" && <span className="font-semibold text-brass">Asks you</span>}
      {task.priority < 3 && <span className="font-semibold text-brass">{task.priority === 1 ? "Critical" : "High"}</span>}
      {task.priority > 3 && <span>{task.priority === 4 ? "Low" : "Lowest"}</span>}
      {task.dueDate && <DueDate task={task} />}
      {waits > 0 && task.status !== "done" && <span className="text-brass">waits for {waits}</span>}
      {parts > 0 && <span className="inline-flex items-center gap-0.5"><Icon name="check" className="size-3.5" />{done}/{parts}</span>}
      {names !== "" && <span className="text-green">{names}</span>}
      {task.tags.slice(0, 3).map((tag) => <span key={tag} className="max-w-24 truncate rounded bg-rule/50 px-1">{tag}</span>)}
    </div>
  );
}

/** The day a task is due; red when it has passed. */
export function DueDate({ task }: { task: Pick<Task, "dueDate" | "status"> }) {
  const at = instant(task.dueDate);
  if (at === null) return null;
  const late = at < Date.now() && task.status !== "done";
  return <span className={late ? "font-semibold text-red" : ""}>{late ? <>late <Age at={at} /></> : dayOf(at)}</span>;
}
