// Adding a memory to a session, a goal or a task. What every agent should know is promoted from there, with a reason.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { sessionsQuery, tasksQuery } from "../../data/queries";
import { splitKey, titleOfSession } from "../../data/words";
import { useAgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Choose, TextArea, TextField } from "../../ui/form";
import { toast } from "../../ui/toast";
import { GLOBAL, type MemorySearch, type MemoryType, TYPES } from "./address";
import { typeName } from "./memory";

export function AddMemory({ search, onClose }: { search: MemorySearch; onClose: () => void }) {
  const sessions = useQuery(sessionsQuery({}, 1));
  const tasks = useQuery(tasksQuery({}, 1));
  const agentName = useAgentName();
  const [place, setPlace] = useState(search.session ?? (search.scope === GLOBAL ? "" : (search.scope ?? "")));
  const [type, setType] = useState<MemoryType>("fact");
  const [title, setTitle] = useState("");
  const [content, setContent] = useState("");
  const [tags, setTags] = useState("");
  const add = useAction({
    act: async () => {
      const { scope, agentId } = await scopeOf(place);
      return ask(api.POST("/api/memory", { body: { scope, agentId, type, title, content, tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean) } }));
    },
    failed: "The memory was not kept",
    stale: () => [["memory"]],
    quiet: true,
    done: () => {
      toast({ text: "Kept." });
      onClose();
    },
  });
  const places = [
    { value: "", label: "Choose a session or task" },
    ...(sessions.data?.rows ?? []).map((row) => ({ value: row.key, label: `${titleOfSession(row)} · ${agentName(row.agentSlug)}` })),
    ...(tasks.data?.rows ?? []).map((row) => ({ value: `task:${row.id}`, label: `Task: ${row.title}` })),
  ];
  const ready = place !== "" && content.trim() !== "";
  return (
    <Dialog open title="Add a memory" about="It is shown to runs of the place it is kept for. To make it known everywhere, promote it afterwards." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (ready) add.mutate(); }}>
        <TextArea label="What should be remembered?" value={content} rows={3} autoFocus onChange={(event) => setContent(event.target.value)} complaint={add.error?.message} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Choose label="Keep it for" options={places} value={place} onChange={(event) => setPlace(event.target.value)} />
          <Choose label="Type" options={TYPES.map((each) => ({ value: each, label: typeName(each) }))} value={type} onChange={(event) => setType(event.target.value as MemoryType)} />
          <TextField label="Title" hint="Optional, a few words." value={title} onChange={(event) => setTitle(event.target.value)} />
          <TextField label="Tags" hint="Optional, with commas between." value={tags} onChange={(event) => setTags(event.target.value)} />
        </div>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" weight="main" busy={add.isPending} disabled={!ready}>Keep</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Return the scope that a session's own memory has; the server knows how its key is read. */
async function scopeOf(place: string): Promise<{ scope: string; agentId?: string }> {
  if (!place.startsWith("agent:")) return { scope: place };
  const { chain } = await ask(api.GET("/api/memory", { params: { query: { sessionId: place, limit: 1 } } }));
  const own = chain.find((scope) => scope.startsWith("session:")) ?? chain[0] ?? place;
  return { scope: own, agentId: splitKey(place).agent };
}
