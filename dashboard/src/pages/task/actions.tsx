// What one can do with a task as a whole: move it where it may go, stop it, change its words.

import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Task } from "../../data/api";
import { movesOf, STATUS_NAMES } from "../../data/moves";
import { useChange } from "../../data/tasks";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { Menu } from "../../ui/menu";
import { StateBadge } from "../../ui/state";
import { toast } from "../../ui/toast";
import { useMover } from "./mover";

export function TaskActions({ task }: { task: Task }) {
  const { move, form } = useMover();
  const [editing, setEditing] = useState(false);
  const stop = useAction({
    act: () => ask(api.POST("/api/tasks/{id}/stop", { params: { path: { id: task.id } } })),
    failed: "The task was not stopped",
    done: ({ cancelledRuns }) => void toast({ text: cancelledRuns.length === 0 ? "Nothing was running." : `${plural(cancelledRuns.length, "run")} stopped.` }),
  });
  const pin = useChange();
  const moves = movesOf(task);
  useShortcuts([{ keys: "e", does: "Edit the task", run: () => setEditing(true) }]);
  return (
    <>
      <StateBadge state={task.status} label={STATUS_NAMES[task.status]} className="mr-1" />
      {task.status === "review" && <Button weight="main" onClick={() => move({ tasks: [task], to: "done" })}>Mark done</Button>}
      {moves.length > 0 && (
        <Menu
          align="start"
          trigger={<Button>Move to<Icon name="down" className="size-4" /></Button>}
          choices={[
            ...moves.filter((to) => to !== "archived").map((to) => ({ label: task.status === "done" ? "Reopen for review" : STATUS_NAMES[to], run: () => move({ tasks: [task], to }) })),
            null,
            { label: "Archive", danger: true, run: () => move({ tasks: [task], to: "archived" as const }) },
          ]}
        />
      )}
      <Button onClick={() => setEditing(true)}>Edit</Button>
      <Menu
        trigger={<Button weight="bare" aria-label="More about this task"><Icon name="more" /></Button>}
        choices={[
          { label: "Stop everything that runs", run: () => stop.mutate() },
          { label: task.pinned ? "Unpin" : "Pin", run: () => pin.mutate({ task, change: { pinned: !task.pinned } }) },
          { label: "Copy its id", run: () => void navigator.clipboard?.writeText(task.id).then(() => toast({ text: `Copied ${task.id}` })) },
        ]}
      />
      {editing && <Edit task={task} onClose={() => setEditing(false)} />}
      {form}
    </>
  );
}

function Edit({ task, onClose }: { task: Task; onClose: () => void }) {
  const [title, setTitle] = useState(task.title);
  const [description, setDescription] = useState(task.description);
  const change = useChange();
  return (
    <Dialog title="Edit task" open onClose={onClose} wide>
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim() === "") return;
          change.mutate({ task, change: { title: title.trim(), description } });
          onClose();
        }}
      >
        <label className="grid gap-1 text-[0.8125rem] text-soft">Title<input className="field text-ink" autoFocus required value={title} onChange={(event) => setTitle(event.target.value)} /></label>
        <label className="grid gap-1 text-[0.8125rem] text-soft">Description (Markdown)
          <textarea className="field min-h-40 max-h-[50dvh]! text-ink" rows={8} value={description} onChange={(event) => setDescription(event.target.value)} />
        </label>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main">Save</Button></div>
      </form>
    </Dialog>
  );
}
