// Goals and plans of a session: what it is to achieve, how far it is, and what waits for a decision.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { useLiveBoard } from "../../data/tasks";
import { plural, titleOfSession } from "../../data/words";
import { useAgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Dialog } from "../../ui/dialog";
import { Empty } from "../../ui/empty";
import { ErrorState, Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { Menu } from "../../ui/menu";
import { Icon } from "../../ui/icon";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { Title } from "../../ui/title";
import { toast } from "../../ui/toast";
import { TaskPeek } from "../task/peek";
import { type Choice, type Goal, goalsQuery, plansQuery, useSessions, weight } from "./data";
import { TaskGraph } from "./graph";
import { PlanCard, Progress } from "./plan";

export function Goals() {
  const search = useSearch({ from: "/goals" });
  const navigate = useNavigate({ from: "/goals" });
  const { choices, ready, error, retry } = useSessions();
  const session = search.session ?? choices[0]?.session.key;
  const [writing, setWriting] = useState(false);
  const open = (peek: string | undefined) => void navigate({ search: { ...search, session, peek, tab: undefined } });
  useLiveBoard();
  return (
    <>
      <Title name="Goals" actions={session && <Button weight="main" onClick={() => setWriting(true)}><Icon name="plus" className="size-4" />New goal</Button>} />
      {error && <ErrorState error={error} retry={retry} />}
      {!ready && !error && <SkeletonRows />}
      <div className={`grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-4 py-4 ${choices.length > 0 ? "lg:grid-cols-[15rem_minmax(0,1fr)]" : ""}`}>
        {choices.length > 0 && <Sessions choices={choices} chosen={session} all={search.all} />}
        {session ? <OfSession key={session} session={session} onOpen={open} /> : ready && <Empty title="No sessions yet.">Goals belong to a session: begin a chat, and set one there or here.</Empty>}
      </div>
      {writing && session && <GoalForm session={session} onClose={() => setWriting(false)} />}
      {search.peek && (
        <TaskPeek key={search.peek} id={search.peek} tab={search.tab} onTab={(tab) => void navigate({ search: { ...search, tab }, replace: true })} onClose={() => open(undefined)} onOpen={open} />
      )}
    </>
  );
}

/** The sessions that have goals or plans and the one that is looked at; on demand all, because a goal can be set for any. */
function Sessions({ choices, chosen, all }: { choices: Choice[]; chosen: string | undefined; all: "1" | undefined }) {
  const nameOf = useAgentName();
  const some = choices.filter((choice) => weight(choice) > 0 || choice.session.key === chosen);
  const shown = all ? choices : some;
  return (
    <nav aria-label="Sessions" className="min-w-0">
      <ul className="flex gap-1 overflow-x-auto text-sm lg:grid lg:max-h-[calc(100dvh-12rem)] lg:grid-cols-[minmax(0,1fr)] lg:overflow-y-auto">
        {shown.map(({ session, goals, planning }) => (
          <li key={session.key} className="max-lg:max-w-56 max-lg:shrink-0">
            <Link to="/goals" search={{ session: session.key, all }} aria-current={session.key === chosen || undefined} className="grid rounded-md px-2 py-1 text-soft no-underline hover:text-ink aria-[current]:bg-green-wash aria-[current]:text-ink">
              <span className="truncate">{titleOfSession(session)}</span>
              <span className="note truncate">{[nameOf(session.agentSlug), planning ? "planning" : "", goals.length > 1 ? plural(goals.length, "goal") : goals[0]?.name].filter(Boolean).join(" · ")}</span>
            </Link>
          </li>
        ))}
      </ul>
      {choices.length > some.length && (
        <Link to="/goals" search={{ session: chosen, all: all ? undefined : "1" }} className="note mt-2 inline-block px-2 underline">
          {all ? "Only those with goals" : `${plural(choices.length - some.length, "session")} without goals`}
        </Link>
      )}
    </nav>
  );
}

function OfSession({ session, onOpen }: { session: string; onOpen: (id: string) => void }) {
  const goals = useQuery(goalsQuery(session));
  const plans = useQuery(plansQuery(session));
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-8">
      <Loaded query={goals} waiting={<div role="status" aria-label="Loading" className="h-40 rounded-lg bg-rule/25" />}>
        {(known) => (
          <Loaded query={plans} waiting={<div role="status" aria-label="Loading" className="h-40 rounded-lg bg-rule/25" />}>
            {(state) => {
              const loose = state.plans.filter(({ goalId }) => !known.some(({ id }) => id === goalId));
              return (
                <>
                  {known.length + loose.length === 0 && (
                    <Empty title="This session has no goals and no plans.">Set a goal here, or switch plan mode on in the chat: the agent then writes a plan, and you decide about it here.</Empty>
                  )}
                  {known.map((goal) => <GoalCard key={goal.id} goal={goal} onOpen={onOpen} />)}
                  {loose.length > 0 && (
                    <section aria-label="Plans without a goal">
                      {known.length > 0 && <h2 className="border-b border-rule pb-1 text-xl">Plans without a goal</h2>}
                      {loose.map((plan) => <PlanCard key={plan.id} plan={plan} onOpen={onOpen} />)}
                    </section>
                  )}
                </>
              );
            }}
          </Loaded>
        )}
      </Loaded>
    </div>
  );
}

const OVER = ["completed", "failed", "cancelled"];

function GoalCard({ goal, onOpen }: { goal: Goal; onOpen: (id: string) => void }) {
  const change = useAction({
    act: (verb: "complete" | "cancel"): Promise<unknown> => verb === "complete"
      ? ask(api.POST("/api/goals/{id}/complete", { params: { path: { id: goal.id }, query: {} } }))
      : ask(api.PATCH("/api/goals/{id}", { params: { path: { id: goal.id } }, body: { status: "cancelled" } })),
    failed: "The goal was not changed",
    stale: () => [["goals"], ["plans"]],
  });
  const remove = useAction({
    act: () => ask(api.DELETE("/api/goals/{id}", { params: { path: { id: goal.id }, query: {} } })),
    failed: "The goal was not deleted",
    stale: () => [["goals"], ["plans"]],
    done: () => void toast({ text: `Deleted: ${goal.name}` }),
  });
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  // Tasks that lead to the goal without a plan.
  const loose = goal.tasks.filter(({ planId }) => planId === null);
  const all = [...goal.plans.flatMap((plan) => plan.tasks), ...loose];
  return (
    <section aria-label={goal.name}>
      <div className="flex flex-wrap items-start justify-between gap-3 border-b border-rule pb-2">
        <div className="min-w-0">
          <h2 className="flex flex-wrap items-baseline gap-x-3 text-xl">{goal.name}<StateBadge state={goal.status} className="font-sans" /></h2>
          <Progress tasks={all} />
        </div>
        <Menu
          trigger={<Button weight="bare" aria-label={`Change ${goal.name}`}><Icon name="more" /></Button>}
          choices={[
            { label: "Edit", run: () => setOpen("edit") },
            ...(OVER.includes(goal.status) ? [] : [{ label: "Complete", run: () => change.mutate("complete") }, { label: "Cancel, with its plans", danger: true, run: () => change.mutate("cancel") }]),
            { label: "Delete", danger: true, run: () => setOpen("delete") },
          ]}
        />
        {open === "edit" && <GoalForm session={goal.sessionId} goal={goal} onClose={() => setOpen(null)} />}
        {open === "delete" && <Confirm title={`Delete ${goal.name}?`} about="Its plans and its memory go with it; its tasks stay." does="Delete" onDo={() => remove.mutate()} onClose={() => setOpen(null)} />}
      </div>
      {goal.description && <Markdown text={goal.description} className="py-2" />}
      {goal.plans.map((plan) => <PlanCard key={plan.id} plan={plan} onOpen={onOpen} />)}
      {loose.length > 0 && <TaskGraph tasks={loose} name={`Tasks of ${goal.name}`} onOpen={onOpen} />}
      {goal.plans.length + loose.length === 0 && <p className="note py-2">Nothing leads there yet: no plan and no task.</p>}
    </section>
  );
}

/** A new goal, or other words for one. */
function GoalForm({ session, goal, onClose }: { session: string; goal?: Goal; onClose: () => void }) {
  const [name, setName] = useState(goal?.name ?? "");
  const [description, setDescription] = useState(goal?.description ?? "");
  const make = useAction({
    act: (body: { name: string; description: string }): Promise<unknown> => goal
      ? ask(api.PATCH("/api/goals/{id}", { params: { path: { id: goal.id } }, body }))
      : ask(api.POST("/api/goals", { body: { sessionId: session, ...body } })),
    failed: "The goal was not saved",
    stale: () => [["goals"]],
    done: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") make.mutate({ name: name.trim(), description });
  };
  return (
    <Dialog title={goal ? "Edit goal" : "New goal"} open onClose={onClose}>
      <form onSubmit={submit} className="grid gap-3">
        <label className="grid gap-1 text-[0.8125rem] text-soft">What is to be achieved<input className="field text-ink" autoFocus required autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} /></label>
        <label className="grid gap-1 text-[0.8125rem] text-soft">Description (Markdown)<textarea className="field min-h-24 text-ink" rows={4} value={description} onChange={(event) => setDescription(event.target.value)} /></label>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={make.isPending}>{goal ? "Save" : "Create goal"}</Button></div>
      </form>
    </Dialog>
  );
}
