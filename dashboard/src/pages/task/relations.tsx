// The tasks around a task: what it is part of, its sub-tasks, what it waits for and what waits for it.

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { Task } from "../../data/api";
import { STATUS_NAMES } from "../../data/moves";
import { tasksQuery } from "../../data/queries";
import { boardQuery, useChange, useCreate } from "../../data/tasks";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { StateBadge } from "../../ui/state";

const SUGGESTED_MOST = 6;
const NONE: Task[] = [];

export function Relations({ task, onOpen, beside = false }: { task: Task; onOpen: (id: string) => void; beside?: boolean }) {
  const all = useQuery(tasksQuery({ relatedTo: task.id }, 1)).data?.rows ?? NONE;
  const change = useChange();
  const parent = all.find(({ id }) => id === task.parentId);
  const parts = all.filter(({ parentId }) => parentId === task.id).sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  const later = all.filter(({ dependencies }) => dependencies.includes(task.id));
  const waits = task.dependencies.map((id) => all.find((each) => each.id === id) ?? id);
  const done = parts.filter(({ status }) => status === "done").length;
  const depend = (dependencies: string[]) => change.mutate({ task, change: { dependencies } });
  return (
    <div className={`grid grid-cols-[minmax(0,1fr)] gap-5 ${beside ? "sm:grid-cols-[repeat(2,minmax(0,1fr))]" : ""}`}>
      {parent && <Group name="Part of"><Row task={parent} onOpen={onOpen} /></Group>}
      <Group name={parts.length === 0 ? "Sub-tasks" : `Sub-tasks, ${done} of ${parts.length} done`}>
        {parts.map((part) => <Row key={part.id} task={part} onOpen={onOpen} />)}
        <AddPart task={task} />
      </Group>
      <Group name="Waits for">
        {waits.map((each) => typeof each === "string"
          ? <li key={each} className="flex items-center justify-between gap-2"><code className="text-xs text-soft">{each}</code></li>
          : <Row key={each.id} task={each} onOpen={onOpen} onRemove={() => depend(task.dependencies.filter((id) => id !== each.id))} />)}
        <AddDependency task={task} onAdd={(id) => depend([...task.dependencies, id])} />
      </Group>
      {later.length > 0 && <Group name="Waits for this">{later.map((each) => <Row key={each.id} task={each} onOpen={onOpen} />)}</Group>}
    </div>
  );
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-1 font-sans text-xs font-semibold text-soft">{name}</h2>
      <ul className="grid grid-cols-[minmax(0,1fr)] gap-0.5 text-sm">{children}</ul>
    </section>
  );
}

function Row({ task, onOpen, onRemove }: { task: Task; onOpen: (id: string) => void; onRemove?: () => void }) {
  return (
    <li className="flex items-center justify-between gap-2">
      <button type="button" className="min-w-0 truncate py-0.5 text-left hover:underline" title={task.title} onClick={() => onOpen(task.id)}>{task.title}</button>
      <span className="flex items-center">
        <StateBadge state={task.status} label={STATUS_NAMES[task.status]} />
        {onRemove && <Button weight="bare" small aria-label={`Do not wait for ${task.title}`} onClick={onRemove}><Icon name="close" className="size-3.5" /></Button>}
      </span>
    </li>
  );
}

const LINE = "field min-h-7! border-transparent! bg-transparent! px-1! py-0! -ml-1 text-sm! hover:border-edge! focus:border-edge! focus:bg-leaf!";

function AddPart({ task }: { task: Task }) {
  const [title, setTitle] = useState("");
  const create = useCreate();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() === "") return;
    setTitle("");
    create.mutate({ title: title.trim(), parentId: task.id, topicId: task.topicId, spaceId: task.spaceId }, { onError: () => setTitle((now) => now || title) });
  };
  return <li><form onSubmit={submit}><input aria-label="New sub-task" placeholder="Add a sub-task…" autoComplete="off" className={LINE} value={title} onChange={(event) => setTitle(event.target.value)} /></form></li>;
}

function AddDependency({ task, onAdd }: { task: Task; onAdd: (id: string) => void }) {
  const [text, setText] = useState("");
  const words = text.toLowerCase().trim();
  // Every task there is, for whoever looks for one.
  const board = useQuery({ ...boardQuery(), enabled: words !== "" });
  const among = (all: Task[]) => all
    .filter((each) => each.id !== task.id && !task.dependencies.includes(each.id) && (each.title.toLowerCase().includes(words) || each.id === words))
    .slice(0, SUGGESTED_MOST);
  const found = words === "" ? [] : among(board.data?.rows ?? NONE);
  const add = (id: string) => {
    setText("");
    onAdd(id);
  };
  // Enter may come before the tasks have been read.
  const takeFirst = async () => {
    const first = among((board.data ?? (await board.refetch({ cancelRefetch: false })).data)?.rows ?? NONE)[0];
    if (first) add(first.id);
  };
  return (
    <li>
      <input
        aria-label="Task to wait for" placeholder="Add a task to wait for…" autoComplete="off" className={LINE} value={text} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && words !== "") void takeFirst();
          if (event.key === "Escape" && text !== "") {
            event.preventDefault();
            setText("");
          }
        }}
      />
      {words !== "" && (
        <ul className="mt-1 grid grid-cols-[minmax(0,1fr)] rounded-md border border-rule bg-leaf p-1">
          {found.length === 0 && <li className="note px-2 py-1">{board.isPending ? "Looking…" : "No task has these words."}</li>}
          {found.map((each) => <li key={each.id}><button type="button" className="w-full truncate rounded px-2 py-1 text-left hover:bg-green-wash" onClick={() => add(each.id)}>{each.title}</button></li>)}
        </ul>
      )}
    </li>
  );
}
