// Plan mode and auto mode of the open session. Each panel names the session that it is about.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Shapes } from "../../data/api";
import { plural } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { StateBadge } from "../../ui/state";

type Plan = Shapes["PlanShape"];

// Kept per session: what one session plans is never shown for another.
const plansQuery = (key: string) => ({
  queryKey: ["plans", key],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask(api.GET("/api/plans", { params: { query: { sessionId: key } }, signal })),
});
const autoQuery = (key: string) => ({
  queryKey: ["auto", key],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask(api.GET("/api/auto/runs", { params: { query: { sessionId: key } }, signal })),
});

export function Modes({ sessionKey, title, exists }: { sessionKey: string; title: string; exists: boolean }) {
  return (
    <>
      <Panel name="Plan" title={title}>{exists ? <PlanPanel sessionKey={sessionKey} /> : <BeforeFirst />}</Panel>
      <Panel name="Auto" title={title}>{exists ? <AutoPanel sessionKey={sessionKey} /> : <BeforeFirst />}</Panel>
    </>
  );
}

function BeforeFirst() {
  return <p className="note">Available after the first message.</p>;
}

function Panel({ name, title, children }: { name: string; title: string; children: ReactNode }) {
  return (
    <section aria-label={name} className="grid grid-cols-[minmax(0,1fr)] gap-2 border-b border-rule pb-4">
      <header>
        <h3 className="text-lg">{name}</h3>
        <p className="note truncate">of {title}</p>
      </header>
      {children}
    </section>
  );
}

function PlanPanel({ sessionKey }: { sessionKey: string }) {
  const state = useQuery(plansQuery(sessionKey));
  const body = { sessionId: sessionKey };
  const stale = () => [["plans", sessionKey], ["session", sessionKey], ["sessions"]];
  const turn = useAction({
    act: (on: boolean) => ask(on ? api.POST("/api/plans/enable", { body }) : api.POST("/api/plans/disable", { body })),
    failed: "Plan mode was not changed",
    stale,
  });
  return (
    <Loaded query={state}>
      {({ enabled, activePlanId, plans }) => (
        <>
          <p className="flex items-center justify-between gap-2">
            <StateBadge state={enabled ? "active" : "idle"} label={enabled ? "Plan mode is on" : "Plan mode is off"} />
            <Button small busy={turn.isPending} onClick={() => turn.mutate(!enabled)}>{enabled ? "Turn off" : "Turn on"}</Button>
          </p>
          <ul className="grid gap-2">{plans.map((plan) => <PlanCard key={plan.id} plan={plan} isActive={plan.id === activePlanId} sessionKey={sessionKey} />)}</ul>
        </>
      )}
    </Loaded>
  );
}

const STEPS: Partial<Record<Plan["status"], ("approve" | "cancel" | "resume")[]>> = {
  ready: ["approve", "cancel"], drafting: ["cancel"], working: ["cancel"], blocked: ["resume", "cancel"], failed: ["resume"], cancelled: ["resume"],
};
const STEP_NAMES = { approve: "Approve", cancel: "Cancel", resume: "Resume" };

function PlanCard({ plan, isActive, sessionKey }: { plan: Plan; isActive: boolean; sessionKey: string }) {
  const [open, setOpen] = useState(false);
  const step = useAction({
    act: (name: "approve" | "cancel" | "resume") => {
      const call = { params: { path: { id: plan.id } }, body: { sessionId: sessionKey } };
      if (name === "approve") return ask(api.POST("/api/plans/{id}/approve", call));
      return ask(name === "cancel" ? api.POST("/api/plans/{id}/cancel", call) : api.POST("/api/plans/{id}/resume", call));
    },
    failed: "The plan was not changed",
    stale: () => [["plans", sessionKey], ["tasks"]],
  });
  const done = plan.tasks.filter((task) => task.status === "done").length;
  return (
    <li className={`grid gap-1.5 rounded-r-md border-l-[3px] bg-leaf px-3 py-2 ${isActive ? "border-l-green" : "border-l-rule"}`}>
      <p className="flex items-baseline justify-between gap-2"><span className="font-serif">{plan.title || "Plan"}</span><StateBadge state={plan.status} /></p>
      <p className="note">{plan.tasks.length === 0 ? "No tasks yet" : `${done} of ${plural(plan.tasks.length, "task")} done`} · <Age at={plan.updatedAt} ago /></p>
      <p className="flex flex-wrap gap-1.5">
        {STEPS[plan.status]?.map((name) => <Button key={name} small weight={name === "approve" ? "main" : "quiet"} busy={step.isPending} onClick={() => step.mutate(name)}>{STEP_NAMES[name]}</Button>)}
        <Button small onClick={() => setOpen(true)}>Read</Button>
      </p>
      <Dialog title={plan.title || "Plan"} wide open={open} onClose={() => setOpen(false)}>
        <Markdown text={plan.markdown || "Nothing is written yet."} />
        {plan.tasks.length > 0 && (
          <ol className="mt-4 grid gap-1 border-t border-rule pt-3">
            {plan.tasks.map((task) => <li key={task.id} className="flex justify-between gap-3"><Link to="/tasks/$id" params={{ id: task.id }} className="underline">{task.title}</Link><StateBadge state={task.status} /></li>)}
          </ol>
        )}
      </Dialog>
    </li>
  );
}

function AutoPanel({ sessionKey }: { sessionKey: string }) {
  const [text, setText] = useState("");
  const runs = useQuery(autoQuery(sessionKey));
  const stale = () => [["auto", sessionKey], ["session", sessionKey]];
  const start = useAction({
    act: (what: string) => ask(api.POST("/api/auto/start", { body: { sessionId: sessionKey, text: what } })),
    failed: "It was not started",
    stale,
    done: () => setText(""),
  });
  const stop = useAction({
    act: (runId: string) => ask(api.POST("/api/auto/stop", { body: { runId } })),
    failed: "It was not stopped",
    stale,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") start.mutate(text.trim());
  };
  return (
    <Loaded query={runs}>
      {({ runs: active }) => (
        <>
          {active.length === 0 && <StateBadge state="idle" label="No auto run" />}
          <ul className="grid gap-2">
            {active.map((run) => (
              <li key={run.runId} className="grid gap-1 rounded-r-md border-l-[3px] border-l-green bg-leaf px-3 py-2">
                <p className="flex items-baseline justify-between gap-2"><StateBadge state={run.status} /><span className="note">{run.runKind === "GOAL_RUN" ? "on a goal" : "on a task"}</span></p>
                <p className="note">{plural(run.tickCount, "tick")} · started <Age at={run.startedAt} ago /></p>
                <p className="flex gap-1.5">
                  <Button small busy={stop.isPending} onClick={() => stop.mutate(run.runId)}>Stop auto run</Button>
                  <Link to="/tasks/$id" params={{ id: run.taskId }} className="button quiet small">Task</Link>
                </p>
              </li>
            ))}
          </ul>
          <form onSubmit={submit} className="grid gap-1.5">
            <label className="note" htmlFor="auto-text">What it works on by itself</label>
            <div className="flex gap-1.5"><input id="auto-text" className="field min-w-0" value={text} onChange={(event) => setText(event.target.value)} /><Button type="submit" small busy={start.isPending}>Start</Button></div>
          </form>
        </>
      )}
    </Loaded>
  );
}
