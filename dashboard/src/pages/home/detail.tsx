// What is open beside the list: everything about one need, and the form that settles it.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ask } from "../../data/api";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { AnswerForm, Question } from "../../ui/answer";
import { Button } from "../../ui/button";
import { Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import type { Acts } from "./acts";
import { KIND_NAMES, type Need } from "./needs";

// Nothing else than what is offered here settles these.
const SETTLED_HERE = new Set<Need["kind"]>(["review", "loop", "budget"]);

type Props = { need: Need; acts: Acts; onClose: () => void; onReceipt: (runId: string) => void };

const lastQuery = (id: string) => queryOptions({
  queryKey: ["task", id, "last"],
  queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}/thread", { params: { path: { id }, query: { limit: 1 } }, signal })),
});

/** What was said last in a task's thread: mostly what is to be reviewed. */
function LastSaid({ taskId }: { taskId: string }) {
  const message = useQuery(lastQuery(taskId)).data?.messages.at(-1);
  if (message === undefined) return null;
  return (
    <section aria-label="Last message" className="border-t border-rule pt-3">
      <h3 className="note font-sans!">{message.authorName} wrote<Age at={message.createdAt} ago prefix=" " /></h3>
      <Markdown text={message.content} />
    </section>
  );
}

export function NeedPeek({ need, acts, onClose, onReceipt }: Props) {
  const { run, task, notification } = need;
  const waits = need.kind === "approval" || need.kind === "question";
  return (
    <Peek title={KIND_NAMES[need.kind][0]} onClose={onClose}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <p className="note">
          {need.agent && <AgentName id={need.agent} className="agent mr-2" />}
          {need.sessionKey !== null && <Link to="/chat/$" params={{ _splat: need.sessionKey }} className="text-ink underline">{need.where}</Link>}
          {task && <Link to="/tasks/$id" params={{ id: task.id }} className="text-ink underline">{task.title}</Link>}
          <Age at={need.at} ago prefix=" · " />
        </p>
        {run && waits && <div className="font-serif text-[1.125rem] leading-snug"><Question run={run} /></div>}
        {run && waits && <AnswerForm key={run.id} run={run} autoFocus onDecide={acts.answer} />}
        {need.kind === "loop" && <p>{need.what}</p>}
        {!waits && need.why !== "" && <p className={need.kind === "failed" ? "text-red" : ""}>{need.why}</p>}
        {notification && <Markdown text={notification.body} />}
        {task && <Markdown text={task.description || "No description."} />}
        {task && <LastSaid taskId={task.id} />}
        {run && (
          <section aria-label="Message" className="border-t border-rule pt-3">
            <h3 className="note font-sans!">It was asked</h3>
            <Markdown text={run.message.text} />
          </section>
        )}
        <div className="flex flex-wrap items-center gap-2 border-t border-rule pt-3">
          {run && need.kind === "loop" && (
            <>
              <Button weight="main" onClick={() => acts.goOn.mutate(run)}>Go on</Button>
              <Button weight="danger" onClick={() => acts.stop.mutate(run)}>Stop</Button>
            </>
          )}
          {need.budget && <Button weight="main" onClick={() => need.budget && acts.allow.mutate(need.budget)}>Allow once more</Button>}
          {need.kind === "failed" && <Button weight="main" busy={acts.retry.isPending} onClick={() => acts.retry.mutate([need])}>Retry</Button>}
          {need.kind === "undelivered" && <Button weight="main" busy={acts.retry.isPending} onClick={() => acts.retry.mutate([need])}>Deliver again</Button>}
          {task && need.kind === "review" && (
            <>
              <Button weight="main" onClick={() => acts.review.mutate({ id: task.id, to: "done" })}>Done</Button>
              <Button onClick={() => acts.review.mutate({ id: task.id, to: "in_progress" })}>Send back</Button>
            </>
          )}
          {need.sessionKey !== null && <Link to="/chat/$" params={{ _splat: need.sessionKey }} className="button quiet">Open the chat</Link>}
          {run && <Button weight="plain" onClick={() => onReceipt(run.id)}>What it was shown</Button>}
          {!waits && !SETTLED_HERE.has(need.kind) && <Button weight="plain" className="ml-auto" onClick={() => acts.putAside([need])}>Dismiss</Button>}
        </div>
      </div>
    </Peek>
  );
}
