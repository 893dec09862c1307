// Spaces and topics at the side of the board: how much work is in each, and a click to see only that.

import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import type { Space, Task, Topic } from "../../data/api";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import type { BoardSearch } from "./address";
import { TopicForm, TopicMenu } from "./topic";

type Props = { spaces: Space[]; topics: Topic[]; tasks: Task[]; search: BoardSearch };

export function Side({ spaces, topics, tasks, search }: Props) {
  const [making, setMaking] = useState(false);
  const counts = useMemo(() => countsOf(tasks), [tasks]);
  const shown = topics.filter((topic) => topic.status === "active" && (!search.space || topic.spaceId === search.space));
  const without = counts.get("none") ?? 0;
  return (
    <nav aria-label="Spaces and topics" className="grid grid-cols-[minmax(0,1fr)] content-start gap-4 text-sm">
      {spaces.length > 1 && (
        <Group name="Spaces">
          <Item name="All spaces" count={null} to={{ ...search, space: undefined }} on={!search.space} />
          {spaces.map((space) => <Item key={space.id} name={space.name} count={counts.get(space.id) ?? 0} to={{ ...search, space: space.id, topic: undefined }} on={search.space === space.id} />)}
        </Group>
      )}
      <Group name="Topics" action={<Button weight="bare" small aria-label="New topic" className="min-h-0! p-0.5!" onClick={() => setMaking(true)}><Icon name="plus" className="size-4" /></Button>}>
        <Item name="All topics" count={null} to={{ ...search, topic: undefined }} on={!search.topic} />
        {shown.map((topic) => <Item key={topic.id} name={topic.name} count={counts.get(topic.id) ?? 0} to={{ ...search, topic: topic.id }} on={search.topic === topic.id} menu={<TopicMenu topic={topic} others={shown.filter(({ id, spaceId }) => id !== topic.id && spaceId === topic.spaceId)} />} />)}
        {without > 0 && shown.length > 0 && <Item name="No topic" count={without} to={{ ...search, topic: "none" }} on={search.topic === "none"} />}
        {shown.length === 0 && <li className="note px-2 py-1">Topics appear as agents and people talk.</li>}
      </Group>
      {making && <TopicForm spaceId={search.space} onClose={() => setMaking(false)} />}
    </nav>
  );
}

/** Count the tasks that are not done, by space and by topic. */
function countsOf(tasks: Task[]): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (id: string) => counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const task of tasks) {
    if (task.status === "done") continue;
    add(task.spaceId);
    add(task.topicId ?? "none");
  }
  return counts;
}

function Group({ name, action, children }: { name: string; action?: ReactNode; children: ReactNode }) {
  return (
    <div>
      <div className="flex items-center justify-between px-2 pb-1"><h2 className="font-sans text-xs font-semibold text-soft">{name}</h2>{action}</div>
      <ul>{children}</ul>
    </div>
  );
}

function Item({ name, count, to, on, menu }: { name: string; count: number | null; to: BoardSearch; on: boolean; menu?: ReactNode }) {
  return (
    <li className="group relative">
      <Link to="/board" search={{ ...to, peek: undefined, tab: undefined }} aria-current={on || undefined} className="flex items-baseline justify-between gap-2 rounded-md px-2 py-1 text-soft no-underline hover:text-ink aria-[current]:bg-green-wash aria-[current]:font-semibold aria-[current]:text-ink">
        <span className="truncate">{name}</span>{count !== null && count > 0 && <span className={`shrink-0 text-xs ${menu ? "group-focus-within:invisible group-hover:invisible pointer-coarse:mr-6 pointer-coarse:visible!" : ""}`}>{count}</span>}
      </Link>
      {menu && <span className="absolute top-1 right-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100 has-[[aria-expanded=true]]:opacity-100">{menu}</span>}
    </li>
  );
}
