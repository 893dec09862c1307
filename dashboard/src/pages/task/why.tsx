// Why a task is not moving, in the server's sentences, with a button for everything that would change it.

import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../data/action";
import { api, ask, type Shapes, type Task } from "../../data/api";
import { type Status, STATUS_NAMES } from "../../data/moves";
import { useDirectory } from "../../data/places";
import { useAssign } from "../../data/tasks";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { whyQuery } from "./data";
import { useMover } from "./mover";

type Reason = Shapes["Reason"];

export function WhyBox({ task, onOpen }: { task: Task; onOpen: (id: string) => void }) {
  const why = useQuery(whyQuery(task.id)).data;
  const { move, form } = useMover();
  if (why === undefined) return <div className="h-10 rounded-md bg-rule/25" role="status" aria-label="Loading" />;
  if (why.reasons.length === 0) return <p className="flex items-center gap-2 text-sm text-green"><span aria-hidden="true" className="size-2 animate-breathe rounded-full bg-green" />It is moving.</p>;
  const calm = task.status === "done" || task.status === "archived";
  return (
    <section aria-label="Why it is not moving" className={`grid gap-2 rounded-r-lg border-l-[3px] px-4 py-2.5 ${calm ? "border-green bg-green-wash" : "border-edge bg-rule/25"}`}>
      {why.moving && !calm && <p className="text-sm text-green">Somebody is working on it.</p>}
      {why.reasons.map((reason, i) => (
        <div key={`${reason.code}-${reason.runId ?? i}`} className="grid gap-1.5">
          <p className="text-sm">{readable(reason.text)} {reason.since && <Age at={reason.since} ago className="note whitespace-nowrap" />}</p>
          <div className="flex flex-wrap gap-2 empty:hidden">
            {reason.actions.map((action) => <Act key={action} action={action} reason={reason} task={task} onOpen={onOpen} onMove={(to) => move({ tasks: [task], to })} />)}
          </div>
        </div>
      ))}
      {form}
    </section>
  );
}

/** Leave out an id where the title stands beside it, and tell times as the reader's clock does. */
const readable = (text: string): string => text
  .replace(/ on \S+ \((.+)\), which is (\w+)/, (_, title: string, status: Status) => ` on “${title}”, which is ${STATUS_NAMES[status].toLowerCase()}`)
  .replace(/\b\w+_[0-9a-z]{8,} \(([^)]+)\)/g, "“$1”")
  .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => new Date(time).toLocaleString());

type ActProps = { action: string; reason: Reason; task: Task; onOpen: (id: string) => void; onMove: (to: Status) => void };

function Act({ action, reason, task, onOpen, onMove }: ActProps) {
  const to = /^move it to (\w+)$/.exec(action)?.[1] as Status | undefined;
  if (to !== undefined) return <Button small onClick={() => onMove(to)}>Move to {STATUS_NAMES[to] ?? to}</Button>;
  const other = /^finish (\S+)$/.exec(action)?.[1];
  if (other !== undefined) return <Button small onClick={() => onOpen(other)}>Open that task</Button>;
  if (action === "reopen") return <Button small onClick={() => onMove("review")}>Reopen</Button>;
  if (action === "write to its thread") return <Button small onClick={() => focusOn("message", task)}>Write to its thread</Button>;
  if (action === "answer") return null;
  if (action === "assign an agent" || action === "assign another agent") return <Assign task={task} />;
  if (action === "enable the agent") return <Enable task={task} />;
  if ((action === "cancel" || action === "retry") && reason.runId) return <OfRun verb={action} runId={reason.runId} task={task} />;
  return action === "wait" ? null : <span className="note self-center">You can {action}.</span>;
}

/** Put the focus into the field of a task's thread. */
function focusOn(field: string, task: Task): void {
  document.getElementById(`${field}-${task.id}`)?.focus();
}

function Assign({ task }: { task: Task }) {
  const { agents } = useDirectory();
  const assign = useAssign();
  const free = agents.filter(({ id, enabled }) => enabled && !task.assignedAgentIds.includes(id));
  return (
    <Menu
      align="start" trigger={<Button small>Assign<Icon name="down" className="size-4" /></Button>}
      choices={free.map(({ id, name }) => ({ label: name, run: () => assign.mutate({ task, agentIds: [id] }) }))}
    />
  );
}

function Enable({ task }: { task: Task }) {
  const { agents } = useDirectory();
  const enable = useAction({
    act: (id: string) => ask(api.PATCH("/api/agents/{id}", { params: { path: { id } }, body: { enabled: true } })),
    failed: "The agent was not enabled",
    stale: () => [["agents"], ["task", task.id]],
  });
  return agents
    .filter(({ id, enabled }) => !enabled && task.assignedAgentIds.includes(id))
    .map(({ id, name }) => <Button key={id} small busy={enable.isPending} onClick={() => enable.mutate(id)}>Enable {name}</Button>);
}

function OfRun({ verb, runId, task }: { verb: "cancel" | "retry"; runId: string; task: Task }) {
  const act = useAction({
    act: async (): Promise<unknown> => ask<unknown>(verb === "cancel" ? api.POST("/api/runs/{id}/cancel", { params: { path: { id: runId } } }) : api.POST("/api/runs/{id}/retry", { params: { path: { id: runId } } })),
    failed: verb === "cancel" ? "The run was not cancelled" : "The run was not tried again",
    stale: () => [["task", task.id], ["runs"]],
  });
  return <Button small weight={verb === "cancel" ? "plain" : "quiet"} busy={act.isPending} onClick={() => act.mutate()}>{verb === "cancel" ? "Cancel that run" : "Try again"}</Button>;
}
