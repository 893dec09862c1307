// Moving tasks: asks for what the server would miss (why it is blocked, who does it), then moves them.

import { type FormEvent, useState } from "react";
import type { Task } from "../../data/api";
import { missingFor, type Status, STATUS_NAMES } from "../../data/moves";
import { useDirectory } from "../../data/places";
import { type Move, type Place, useMove } from "../../data/tasks";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";

type Wanted = { tasks: Task[]; to: Status; place?: Place; position?: number };
type Asked = Wanted & { missing: "assignee" | "reason" | "confirm" };

/** Return how to move tasks, and the form that asks what is missing, to be put on the page. */
export function useMover() {
  const [asked, setAsked] = useState<Asked | null>(null);
  const change = useMove();
  const send = ({ tasks, to, place, position }: Wanted, more: Partial<Move> = {}) => {
    for (const task of tasks) {
      const needs = missingFor(task, to);
      // Of several tasks, those that somebody has already keep their assignees.
      const given = needs === "assignee" || needs === "reason" ? more : {};
      change.mutate({ task, to, place, position, ...given });
    }
  };
  const move = (wanted: Wanted) => {
    const inside = wanted.tasks.every((task) => task.status === wanted.to);
    const missing = wanted.to === "archived" ? "confirm" : wanted.tasks.map((task) => missingFor(task, wanted.to)).find((each) => each !== null);
    if (!inside && missing) setAsked({ ...wanted, missing });
    else send(wanted);
  };
  const form = asked && (
    <MoveForm
      asked={asked}
      onClose={() => setAsked(null)}
      onSay={(more) => {
        send(asked, more);
        setAsked(null);
      }}
    />
  );
  return { move, form };
}

const TITLES = {
  reason: (tasks: Task[]) => (tasks.length === 1 ? "Why is it blocked?" : `Why are these ${tasks.length} blocked?`),
  assignee: (tasks: Task[]) => (tasks.length === 1 ? "Who does it?" : "Who does those that nobody has?"),
  confirm: (tasks: Task[]) => `Archive ${tasks.length === 1 ? "this task" : plural(tasks.length, "task")}?`,
};

function MoveForm({ asked, onClose, onSay }: { asked: Asked; onClose: () => void; onSay: (more: Partial<Move>) => void }) {
  const { tasks, to, missing } = asked;
  const { agents, people } = useDirectory();
  const [reason, setReason] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (missing === "reason" && reason.trim() !== "") onSay({ reason: reason.trim() });
    if (missing === "confirm") onSay({});
    if (missing === "assignee" && chosen.length > 0) {
      onSay({ agentIds: agents.map(({ id }) => id).filter((id) => chosen.includes(id)), userIds: people.map(({ id }) => id).filter((id) => chosen.includes(id)) });
    }
  };
  return (
    <Dialog title={TITLES[missing](tasks)} about={tasks.length === 1 ? tasks[0]?.title : undefined} open onClose={onClose}>
      <form onSubmit={submit} className="grid gap-3">
        {missing === "confirm" && <p>What is archived leaves the board. It can still be read, but nobody works on it any more, and it cannot be brought back.</p>}
        {missing === "reason" && (
          <input className="field" aria-label="Reason" autoFocus autoComplete="off" placeholder="What it waits for" value={reason} onChange={(event) => setReason(event.target.value)} />
        )}
        {missing === "assignee" && (
          <fieldset className="grid max-h-72 gap-1 overflow-y-auto">
            <legend className="sr-only">Assignees</legend>
            {[...agents.filter(({ enabled }) => enabled), ...people].map(({ id, name, slug }, i) => (
              <label key={id} className="flex cursor-pointer items-center gap-2 rounded-md px-2 py-1 hover:bg-green-wash">
                <input
                  type="checkbox" className="accent-green" autoFocus={i === 0} checked={chosen.includes(id)}
                  onChange={() => setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id])}
                />
                {name || slug}
              </label>
            ))}
          </fieldset>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" weight={missing === "confirm" ? "danger" : "main"}>{missing === "confirm" ? "Archive" : `Move to ${STATUS_NAMES[to]}`}</Button>
        </div>
      </form>
    </Dialog>
  );
}
