// Topics: make one, rename it, put it away, or merge it into another.

import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Topic } from "../../data/api";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Dialog } from "../../ui/dialog";
import { Choose, TextField } from "../../ui/form";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { toast } from "../../ui/toast";

// The last merges are those that one takes back.
const UNMERGED_MOST = 5;
const stale = () => [["topics"], ["tasks"]];

/** What can be done with a topic. */
export function TopicMenu({ topic, others }: { topic: Topic; others: Topic[] }) {
  const [open, setOpen] = useState<"rename" | "merge" | "remove" | null>(null);
  const change = useAction({
    act: (status: "archived" | "active") => ask(api.PATCH("/api/topics/{id}", { params: { path: { id: topic.id } }, body: { status } })),
    failed: "The topic was not put away",
    stale,
    done: (_answer, status) => {
      if (status === "archived") toast({ text: `Archived: ${topic.name}`, action: { label: "Undo", run: () => change.mutate("active") } });
    },
  });
  const unmerge = useAction({
    act: ({ name, entryIds }: Topic["mergedFrom"][number]) => ask(api.POST("/api/topics/{id}/split", { params: { path: { id: topic.id } }, body: { name, entryIds } })),
    failed: "The merge was not taken back",
    stale,
    done: ({ topic: { name } }) => void toast({ text: `${name} is a topic of its own again.` }),
  });
  const remove = useAction({
    act: () => ask(api.DELETE("/api/topics/{id}", { params: { path: { id: topic.id } } })),
    failed: "The topic was not removed",
    stale,
    done: () => void toast({ text: `Removed: ${topic.name}` }),
  });
  return (
    <>
      <Menu
        trigger={<Button weight="bare" small aria-label={`More: ${topic.name}`} className="min-h-0! p-0.5!"><Icon name="more" className="size-4" /></Button>}
        choices={[
          { label: "Rename", run: () => setOpen("rename") },
          { label: "Merge into another", run: () => setOpen("merge"), disabled: others.length === 0 },
          ...topic.mergedFrom.slice(-UNMERGED_MOST).map((merged) => ({ label: `Take ${merged.name} out again`, run: () => unmerge.mutate(merged) })),
          { label: "Archive", run: () => change.mutate("archived") },
          { label: "Remove", danger: true, run: () => setOpen("remove") },
        ]}
      />
      {open === "rename" && <TopicForm topic={topic} onClose={() => setOpen(null)} />}
      {open === "remove" && <Confirm title={`Remove ${topic.name}?`} about="Its tasks and what was said about it stay, without a topic." does="Remove" onDo={() => remove.mutate()} onClose={() => setOpen(null)} />}
      {open === "merge" && <Merge topic={topic} others={others} onClose={() => setOpen(null)} />}
    </>
  );
}

/** A new topic, or another name for one. */
export function TopicForm({ topic, spaceId, onClose }: { topic?: Topic; spaceId?: string; onClose: () => void }) {
  const [name, setName] = useState(topic?.name ?? "");
  const save = useAction({
    act: () => topic
      ? ask(api.PATCH("/api/topics/{id}", { params: { path: { id: topic.id } }, body: { name: name.trim() } }))
      : ask(api.POST("/api/topics", { body: { name: name.trim(), ...(spaceId && { spaceId }) } })),
    failed: "The topic was not saved",
    stale,
    quiet: true,
    done: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") save.mutate();
  };
  return (
    <Dialog open title={topic ? "Rename the topic" : "New topic"} about="A topic gathers tasks, notes and what is said about one matter." onClose={onClose}>
      <form onSubmit={submit} className="grid gap-4">
        <TextField label="Name" autoFocus value={name} maxLength={200} onChange={(event) => setName(event.target.value)} complaint={save.error?.message} />
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={name.trim() === ""}>{topic ? "Rename" : "Create"}</Button></div>
      </form>
    </Dialog>
  );
}

function Merge({ topic, others, onClose }: { topic: Topic; others: Topic[]; onClose: () => void }) {
  const [into, setInto] = useState(others[0]?.id ?? "");
  const navigate = useNavigate({ from: "/board" });
  const merge = useAction({
    act: () => ask(api.POST("/api/topics/{id}/merge", { params: { path: { id: into } }, body: { topicIds: [topic.id] } })),
    failed: "The topics were not merged",
    stale,
    quiet: true,
    done: () => {
      toast({ text: `${topic.name} is now part of ${others.find(({ id }) => id === into)?.name ?? "the other topic"}.` });
      onClose();
      void navigate({ search: (before) => ({ ...before, topic: into }) });
    },
  });
  return (
    <Dialog open title={`Merge ${topic.name}`} about="Its tasks, notes and entries move to the other topic, and it is gone." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); merge.mutate(); }}>
        <Choose label="Into" value={into} onChange={(event) => setInto(event.target.value)} complaint={merge.error?.message} options={others.map(({ id, name }) => ({ value: id, label: name }))} />
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="danger" busy={merge.isPending}>Merge</Button></div>
      </form>
    </Dialog>
  );
}
