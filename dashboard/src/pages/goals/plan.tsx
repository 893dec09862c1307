// A plan: how far it is, its tasks as a graph, and what a person decides about it.

import { useAction } from "../../data/action";
import { api, ask, type Task } from "../../data/api";
import { Button } from "../../ui/button";
import { Markdown } from "../../ui/markdown";
import { StateBadge } from "../../ui/state";
import type { Plan } from "./data";
import { TaskGraph } from "./graph";

type Verb = "approve" | "cancel" | "resume";
const UNDECIDED = ["drafting", "ready"];
const ENDED = ["completed", "cancelled", "skipped"];

export function PlanCard({ plan, onOpen }: { plan: Plan; onOpen: (id: string) => void }) {
  return (
    <section aria-label={plan.title || "Plan without a title"} className="border-b border-rule py-4 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h3 className="flex flex-wrap items-baseline gap-x-3 text-lg">{plan.title || "A plan that is being written"}<StateBadge state={plan.status} className="font-sans" /></h3>
        <Decisions plan={plan} />
      </div>
      <Progress tasks={plan.tasks} />
      {plan.tasks.length > 0 ? <TaskGraph tasks={plan.tasks} name={`Tasks of ${plan.title || "the plan"}`} onOpen={onOpen} /> : <p className="note py-2">It has no tasks yet.</p>}
      {plan.markdown && (
        <details open={plan.status === "ready"}>
          <summary className="text-sm text-soft hover:text-ink">What it says</summary>
          <Markdown text={plan.markdown} className="pt-2" />
        </details>
      )}
    </section>
  );
}

function Decisions({ plan }: { plan: Plan }) {
  const decide = useAction({
    act: (verb: Verb) => {
      const call = { params: { path: { id: plan.id } }, body: { sessionId: plan.sessionId } };
      if (verb === "approve") return ask(api.POST("/api/plans/{id}/approve", call));
      return ask(verb === "cancel" ? api.POST("/api/plans/{id}/cancel", call) : api.POST("/api/plans/{id}/resume", call));
    },
    failed: "The plan was not changed",
    stale: () => [["plans"], ["goals"]],
  });
  if (ENDED.includes(plan.status)) return null;
  return (
    <span className="flex gap-2">
      {plan.status === "ready" && <Button weight="main" busy={decide.isPending} onClick={() => decide.mutate("approve")}>Approve</Button>}
      {(plan.status === "failed" || plan.status === "blocked") && <Button weight="main" busy={decide.isPending} onClick={() => decide.mutate("resume")}>Resume</Button>}
      {plan.status !== "failed" && <Button weight="danger" busy={decide.isPending} onClick={() => decide.mutate("cancel")}>{UNDECIDED.includes(plan.status) ? "Refuse" : "Cancel"}</Button>}
    </span>
  );
}

/** How many of the tasks are done, as a bar and in words. */
export function Progress({ tasks }: { tasks: Task[] }) {
  const done = tasks.filter(({ status }) => status === "done").length;
  if (tasks.length === 0) return null;
  return (
    <p className="mt-1 flex items-center gap-3 text-sm text-soft">
      <progress aria-label="Tasks done" value={done} max={tasks.length} className="h-1.5 w-48 max-w-[40vw] appearance-none overflow-hidden rounded-full [&::-moz-progress-bar]:bg-green [&::-webkit-progress-bar]:bg-rule [&::-webkit-progress-value]:bg-green" />
      {done} of {tasks.length} done
    </p>
  );
}
