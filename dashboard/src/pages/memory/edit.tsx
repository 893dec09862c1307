// Changing what a memory says: whoever is shown it next is shown the new words.

import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { TextArea, TextField } from "../../ui/form";
import type { Item } from "./queries";

export function EditMemory({ item, onClose }: { item: Item; onClose: () => void }) {
  const [content, setContent] = useState(item.content);
  const [title, setTitle] = useState(item.title);
  const [tags, setTags] = useState(item.tags.join(", "));
  const save = useAction({
    act: () => ask(api.PATCH("/api/memory/{id}", { params: { path: { id: item.id } }, body: { content: content.trim(), title: title.trim(), tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean) } })),
    failed: "The memory was not changed",
    stale: () => [["memory"]],
    quiet: true,
    done: onClose,
  });
  return (
    <Dialog open title="Edit this memory" about="Runs that were shown it before keep its former words in their receipts." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (content.trim()) save.mutate(); }}>
        <TextArea label="What should be remembered?" value={content} rows={4} autoFocus onChange={(event) => setContent(event.target.value)} complaint={save.error?.message} />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Title" value={title} onChange={(event) => setTitle(event.target.value)} />
          <TextField label="Tags" hint="With commas between." value={tags} onChange={(event) => setTags(event.target.value)} />
        </div>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={!content.trim()}>Save</Button></div>
      </form>
    </Dialog>
  );
}
