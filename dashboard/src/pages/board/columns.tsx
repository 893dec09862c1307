// The board as columns: cards go from one to the next by mouse, touch or keyboard, and keep their order.

import { DndContext, DragOverlay, KeyboardSensor, MouseSensor, TouchSensor, useSensor, useSensors, type Announcements } from "@dnd-kit/core";
import { type ReactNode, useMemo, useRef, useState } from "react";
import type { Task } from "../../data/api";
import { canMove, COLUMNS, type ColumnStatus, STATUS_NAMES } from "../../data/moves";
import type { Place } from "../../data/tasks";
import { useRowKeys, useShortcuts } from "../../ui/keys";
import type { Around } from "./card";
import { Column, type Drop } from "./column";
import { columnsOf } from "./data";
import { dropOf, landing, placeOf, walk } from "./drag";

type Props = {
  tasks: Task[];
  around: Around;
  chosen: ReadonlySet<string>;
  peek: string | undefined;
  onOpen: (task: Task) => void;
  onChoose: (id: string, range: boolean) => void;
  onMove: (wanted: { tasks: Task[]; to: ColumnStatus; place: Place; position: number }) => void;
  /** What stands above the cards of the first column. */
  quick: ReactNode;
};

const KEYS = { start: ["Space"], cancel: ["Escape"], end: ["Space", "Enter"] };
const INSTRUCTIONS = "Press Enter to open the task, or space to lift it; then the arrow keys move it, space puts it down, and Escape puts it back.";

export function Columns({ tasks, around, chosen, peek, onOpen, onChoose, onMove, quick }: Props) {
  const columns = useMemo(() => columnsOf(tasks), [tasks]);
  const [dragged, setDragged] = useState<Task | null>(null);
  const [drop, setDrop] = useState<Drop | null>(null);
  const strip = useRef<HTMLDivElement>(null);
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: 6 } }),
    useSensor(TouchSensor, { activationConstraint: { delay: 250, tolerance: 6 } }),
    useSensor(KeyboardSensor, { keyboardCodes: KEYS, coordinateGetter: walk }),
  );
  useRowKeys(strip);
  useShortcuts([
    { keys: "h", does: "Column to the left", run: () => focusColumn(strip.current, -1) },
    { keys: "l", does: "Column to the right", run: () => focusColumn(strip.current, 1) },
  ]);
  const end = () => {
    setDragged(null);
    setDrop(null);
  };
  const put = (task: Task, to: Drop) => {
    const { place, position } = placeOf(to, columns[to.status], task);
    const many = chosen.has(task.id) ? tasks.filter((each) => chosen.has(each.id)) : [task];
    onMove({ tasks: many, to: to.status, place, position });
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={landing}
      accessibility={{ announcements: ANNOUNCEMENTS, screenReaderInstructions: { draggable: INSTRUCTIONS } }}
      onDragStart={({ active }) => setDragged((active.data.current as { task: Task }).task)}
      onDragMove={(event) => {
        const next = dropOf(event, columns);
        setDrop((before) => (before?.status === next?.status && before?.id === next?.id && before?.edge === next?.edge ? before : next));
      }}
      onDragCancel={end}
      onDragEnd={(event) => {
        const to = dropOf(event, columns);
        if (dragged !== null && to !== null) put(dragged, to);
        end();
      }}
    >
      <div ref={strip} className="flex h-[calc(100dvh-6rem-var(--banner,0px))] min-h-80 min-w-0 gap-2 overflow-x-auto pb-3 lg:h-[calc(100dvh-9.5rem-var(--banner,0px))] max-lg:snap-x max-lg:snap-mandatory">
        {COLUMNS.map((status) => (
          <Column
            key={status} status={status} tasks={columns[status]} around={around} chosen={chosen} peek={peek} onOpen={onOpen} onChoose={onChoose}
            drop={drop?.status === status ? drop : null} takes={dragged === null ? null : dragged.status === status || canMove(dragged, status)}
          >
            {status === "inbox" ? quick : undefined}
          </Column>
        ))}
      </div>
      <DragOverlay dropAnimation={null}>
        {dragged && (
          <div className="leaf cursor-grabbing px-2.5 py-2 text-[0.8438rem] font-medium">
            <span className="line-clamp-3">{dragged.title}</span>
            {chosen.has(dragged.id) && chosen.size > 1 && <span className="note">and {chosen.size - 1} more</span>}
          </div>
        )}
      </DragOverlay>
    </DndContext>
  );
}

const nameOf = (data: unknown): string => (data as { task: Task }).task.title;
const placeNamed = (over: { data: { current?: unknown } } | null): string => {
  const target = over?.data.current as { status: ColumnStatus; title?: string } | undefined;
  if (target === undefined) return "no column";
  return target.title === undefined ? STATUS_NAMES[target.status] : `${STATUS_NAMES[target.status]}, at ${target.title}`;
};

const ANNOUNCEMENTS: Announcements = {
  onDragStart: ({ active }) => `Lifted ${nameOf(active.data.current)}.`,
  onDragOver: ({ active, over }) => `${nameOf(active.data.current)} is over ${placeNamed(over)}.`,
  onDragEnd: ({ active, over }) => `${nameOf(active.data.current)} was put into ${placeNamed(over)}.`,
  onDragCancel: ({ active }) => `${nameOf(active.data.current)} was put back.`,
};

/** Focus the first card of the next column that has one. */
function focusColumn(strip: HTMLElement | null, by: 1 | -1): void {
  const regions = [...(strip?.querySelectorAll<HTMLElement>("section") ?? [])];
  const at = regions.findIndex((region) => region.contains(document.activeElement));
  const onward = by === 1 ? regions.slice(at + 1) : regions.slice(0, Math.max(0, at)).reverse();
  const card = onward.map((region) => region.querySelector<HTMLElement>("[data-row]")).find((each) => each !== null);
  card?.focus();
  card?.scrollIntoView({ block: "nearest", inline: "nearest" });
}
