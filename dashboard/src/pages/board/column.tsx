// A column of the board. Long ones draw only the cards in view.

import { useDroppable } from "@dnd-kit/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";
import type { Task } from "../../data/api";
import { type ColumnStatus, STATUS_NAMES } from "../../data/moves";
import { type Around, Card, shownOf } from "./card";

export type Drop = { status: ColumnStatus; id: string | null; edge: "before" | "after" };

type Props = {
  status: ColumnStatus;
  tasks: Task[];
  around: Around;
  drop: Drop | null;
  /** Whether the task that is being dragged may come here; null while none is. */
  takes: boolean | null;
  chosen: ReadonlySet<string>;
  peek: string | undefined;
  onOpen: (task: Task) => void;
  onChoose: (id: string, range: boolean) => void;
  /** Above the cards. */
  children?: ReactNode;
};

const CARD_PX = 72;
const DRAWN_WHOLE_MOST = 40;

export function Column({ status, tasks, around, drop, takes, chosen, peek, onOpen, onChoose, children }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { setNodeRef } = useDroppable({ id: `column:${status}`, data: { status, id: null } });
  const whole = tasks.length <= DRAWN_WHOLE_MOST;
  const virtual = useVirtualizer({
    count: whole ? 0 : tasks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => CARD_PX,
    getItemKey: (i) => tasks[i]?.id ?? i,
    overscan: 8,
  });
  const drawn = virtual.getVirtualItems();
  const card = (task: Task) => (
    <Card
      task={task} {...shownOf(task, around)} chosen={chosen.has(task.id)} choosing={chosen.size > 0} peeked={peek === task.id}
      edge={drop?.status === status && drop.id === task.id ? drop.edge : null} onOpen={onOpen} onChoose={onChoose}
    />
  );
  return (
    <section
      ref={setNodeRef}
      aria-label={STATUS_NAMES[status]}
      className={`flex flex-col rounded-lg transition-colors max-lg:w-[82vw] max-lg:max-w-[20rem] max-lg:shrink-0 max-lg:snap-start ${tasks.length === 0 && children === undefined ? "lg:min-w-[7.5rem] lg:flex-[0_1_9.5rem]" : "lg:min-w-[9.5rem] lg:flex-[1_1_9.5rem]"} ${drop?.status === status ? (takes === false ? "bg-red-wash" : "bg-green-wash") : "bg-rule/25"} ${takes === false ? "opacity-50" : ""}`}
    >
      <h2 className="flex items-baseline justify-between gap-2 px-3 pt-2 pb-1.5 font-sans text-[0.8125rem] font-semibold">
        {STATUS_NAMES[status]}<span className="font-normal text-soft" aria-label={`${tasks.length} tasks`}>{tasks.length}</span>
      </h2>
      {children}
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-1.5 pb-1.5" tabIndex={-1}>
        {whole ? tasks.map((task) => <div key={task.id}>{card(task)}</div>) : (
          <div style={{ height: virtual.getTotalSize() }} className="relative">
            {drawn.map((item) => {
              const task = tasks[item.index];
              return task && (
                <div key={item.key} ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
                  {card(task)}
                </div>
              );
            })}
          </div>
        )}
        {tasks.length === 0 && <p className="px-1.5 py-2 text-xs text-soft">{takes === true ? "Drop it here" : "Nothing here"}</p>}
      </div>
    </section>
  );
}
