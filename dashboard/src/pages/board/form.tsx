// The form for a new task, opened by the address.

import { type FormEvent, type ReactNode, useState } from "react";
import type { Task, Topic } from "../../data/api";
import type { Directory } from "../../data/places";
import { useCreate } from "../../data/tasks";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import type { BoardSearch } from "./address";
import { placeBy } from "./quick";

type Props = { search: BoardSearch; topics: Topic[]; directory: Directory; onClose: () => void; onMade: (task: Task) => void };

export const PRIORITIES = ["Critical", "High", "Medium", "Low", "Lowest"];

export function NewTask({ search, topics, directory, onClose, onMade }: Props) {
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [topic, setTopic] = useState(placeBy(search).topicId ?? "");
  const [who, setWho] = useState("");
  const [priority, setPriority] = useState(3);
  const [due, setDue] = useState("");
  const create = useCreate(onMade);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() === "") return;
    const agent = directory.agents.some(({ id }) => id === who);
    create.mutate({
      title: title.trim(), description, priority, ...placeBy(search), topicId: topic || null,
      dueDate: due ? new Date(`${due}T17:00`).toISOString() : null,
      ...(who === "" ? {} : agent ? { assignedAgentIds: [who] } : { assignedUserIds: [who] }),
    });
  };
  return (
    <Dialog title="New task" open onClose={onClose}>
      <form onSubmit={submit} className="grid gap-3">
        <Labelled name="Title"><input className="field" autoFocus required autoComplete="off" value={title} onChange={(event) => setTitle(event.target.value)} /></Labelled>
        <Labelled name="Description (Markdown)"><textarea className="field min-h-24" rows={4} value={description} onChange={(event) => setDescription(event.target.value)} /></Labelled>
        <div className="grid gap-3 sm:grid-cols-2">
          <Labelled name="Assigned to">
            <select className="field" value={who} onChange={(event) => setWho(event.target.value)}>
              <option value="">Nobody yet</option>
              {directory.agents.filter(({ enabled }) => enabled).map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
              {directory.people.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
            </select>
          </Labelled>
          <Labelled name="Topic">
            <select className="field" value={topic} onChange={(event) => setTopic(event.target.value)}>
              <option value="">None</option>
              {topics.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
            </select>
          </Labelled>
          <Labelled name="Priority">
            <select className="field" value={priority} onChange={(event) => setPriority(Number(event.target.value))}>
              {PRIORITIES.map((name, i) => <option key={name} value={i + 1}>{name}</option>)}
            </select>
          </Labelled>
          <Labelled name="Due"><input className="field" type="date" value={due} onChange={(event) => setDue(event.target.value)} /></Labelled>
        </div>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={create.isPending}>Create task</Button></div>
      </form>
    </Dialog>
  );
}

function Labelled({ name, children }: { name: string; children: ReactNode }) {
  return <label className="grid gap-1 text-[0.8125rem] text-soft">{name}<span className="contents text-[0.9375rem] text-ink">{children}</span></label>;
}
