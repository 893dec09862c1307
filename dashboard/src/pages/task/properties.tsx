// Who has a task, how urgent it is, when it is due and where it belongs; each is changed where it stands.

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Task } from "../../data/api";
import { spacesQuery, topicsQuery, useDirectory } from "../../data/places";
import { useAssign, useChange } from "../../data/tasks";
import { instant } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";

const PRIORITIES = ["Critical", "High", "Medium", "Low", "Lowest"];
// A native select that looks like text until one points at it.
const FLAT = "field min-h-7! border-transparent! bg-transparent! px-1! py-0! -ml-1 hover:border-edge!";

/** `compact` leaves out what one seldom looks for. */
export function Properties({ task, compact = false }: { task: Task; compact?: boolean }) {
  const topics = useQuery(topicsQuery()).data?.rows ?? [];
  const spaces = useQuery(spacesQuery()).data?.rows ?? [];
  const { mutate } = useChange();
  const set = (change: Parameters<typeof mutate>[0]["change"]) => mutate({ task, change });
  return (
    <dl className={`grid items-center gap-x-3 gap-y-1.5 text-sm ${compact ? "grid-cols-[5.5rem_minmax(0,1fr)] sm:grid-cols-[5rem_minmax(0,1fr)_4rem_minmax(0,1fr)]" : "grid-cols-[5.5rem_minmax(0,1fr)]"}`}>
      <Fact name="Assigned"><Assignees task={task} /></Fact>
      <Fact name="Priority">
        <select aria-label="Priority" className={FLAT} value={task.priority} onChange={(event) => set({ priority: Number(event.target.value) })}>
          {PRIORITIES.map((name, i) => <option key={name} value={i + 1}>{name}</option>)}
        </select>
      </Fact>
      <Fact name="Due">
        <input
          type="date" aria-label="Due" className={`${FLAT} w-auto! ${isLate(task) ? "font-semibold text-red!" : task.dueDate ? "" : "text-soft!"}`} value={dayOf(task.dueDate)}
          onChange={(event) => set({ dueDate: event.target.value ? new Date(`${event.target.value}T17:00`).toISOString() : null })}
        />
      </Fact>
      <Fact name="Topic">
        <select aria-label="Topic" className={FLAT} value={task.topicId ?? ""} onChange={(event) => set({ topicId: event.target.value || null })}>
          <option value="">None</option>
          {topics.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
          {task.topicId !== null && !topics.some(({ id }) => id === task.topicId) && <option value={task.topicId}>{task.topicId}</option>}
        </select>
      </Fact>
      {spaces.length > 1 && (
        <Fact name="Space">
          <select aria-label="Space" className={FLAT} value={task.spaceId} onChange={(event) => set({ spaceId: event.target.value })}>
            {spaces.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
          </select>
        </Fact>
      )}
      <Fact name="Tags"><Tags key={task.tags.join(",")} task={task} onSet={(tags) => set({ tags })} /></Fact>
      {!compact && <Fact name="Created"><Age at={task.createdAt} ago className="text-soft" /></Fact>}
      {!compact && <Fact name="Id"><code className="text-xs break-all text-soft select-all">{task.id}</code></Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <><dt className="text-soft">{name}</dt><dd className="min-w-0">{children}</dd></>;
}

/** Return the day of a moment, in the reader's time zone, as a date field wants it. */
function dayOf(value: string | null): string {
  const at = instant(value);
  if (at === null) return "";
  const day = new Date(at);
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}

function isLate(task: Task): boolean {
  const at = instant(task.dueDate);
  return at !== null && at < Date.now() && task.status !== "done";
}

function Assignees({ task }: { task: Task }) {
  const { agents, people, nameOf } = useDirectory();
  const assign = useAssign();
  const all = [...task.assignedAgentIds.map((id) => ({ id, party: { agentIds: [id] } })), ...task.assignedUserIds.map((id) => ({ id, party: { userIds: [id] } }))];
  return (
    <span className="flex flex-wrap items-center gap-1">
      {all.map(({ id, party }) => (
        <span key={id} className="inline-flex items-center gap-0.5 rounded-md bg-green-wash pl-2 text-[0.8125rem]">
          {nameOf(id)}
          <Button weight="bare" small className="min-h-6! min-w-6! px-0!" aria-label={`Take ${nameOf(id)} off`} onClick={() => assign.mutate({ task, ...party, remove: true })}><Icon name="close" className="size-3" /></Button>
        </span>
      ))}
      <Menu
        align="start"
        trigger={<Button weight="bare" small aria-label="Assign somebody"><Icon name="plus" className="size-4" />{all.length === 0 && "Assign"}</Button>}
        choices={[
          ...agents.filter(({ id, enabled }) => enabled && !task.assignedAgentIds.includes(id)).map(({ id, name }) => ({ label: name, run: () => assign.mutate({ task, agentIds: [id] }) })),
          ...people.filter(({ id }) => !task.assignedUserIds.includes(id)).map(({ id, name }) => ({ label: name, run: () => assign.mutate({ task, userIds: [id] }) })),
        ]}
      />
    </span>
  );
}

function Tags({ task, onSet }: { task: Task; onSet: (tags: string[]) => void }) {
  const [text, setText] = useState(task.tags.join(", "));
  const tags = text.split(",").map((tag) => tag.trim()).filter(Boolean);
  const save = () => {
    if (tags.join(",") !== task.tags.join(",")) onSet([...new Set(tags)]);
  };
  return (
    <input
      aria-label="Tags" placeholder="None" className={FLAT} value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} onBlur={save}
      onKeyDown={(event) => event.key === "Enter" && save()}
    />
  );
}
