// One thing that needs a person: a line of the list, with what to do about it.

import { Link } from "@tanstack/react-router";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import type { Acts } from "./acts";
import { KIND_NAMES, type Kind, type Need } from "./needs";

const EDGES: Record<Kind, string> = {
  approval: "border-l-brass-edge", question: "border-l-brass-edge", loop: "border-l-brass-edge", budget: "border-l-brass-edge", review: "border-l-green", mention: "border-l-green",
  failed: "border-l-red-edge", undelivered: "border-l-red-edge", stalled: "border-l-edge",
};
const INKS: Record<Kind, string> = {
  approval: "text-brass", question: "text-brass", loop: "text-brass", budget: "text-brass", review: "text-green", mention: "text-green", failed: "text-red", undelivered: "text-red", stalled: "text-soft",
};

type Props = { need: Need; acts: Acts; isOpen: boolean; isChosen: boolean; onOpen: () => void; onChoose: () => void };

export function NeedRow({ need, acts, isOpen, isChosen, onOpen, onChoose }: Props) {
  return (
    <li
      data-row="" tabIndex={0} aria-current={isOpen || undefined} data-kind={need.kind}
      onClick={(event) => (event.target as HTMLElement).closest("button, input, a") || onOpen()}
      onKeyDown={(event) => {
        if (event.target !== event.currentTarget) return;
        if (event.key === "Enter") onOpen();
        if (event.key === "x") onChoose();
      }}
      className={`grid cursor-pointer grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-b border-l-[3px] border-b-rule bg-leaf px-3 py-1 hover:bg-green-wash/40 aria-[current]:bg-green-wash sm:grid-cols-[auto_5.5rem_minmax(0,1fr)_auto_auto] ${EDGES[need.kind]}`}
    >
      <input type="checkbox" className="accent-green" aria-label={`Choose ${need.what}`} checked={isChosen} onChange={onChoose} />
      <span className={`text-xs font-semibold max-sm:hidden ${INKS[need.kind]}`}>{KIND_NAMES[need.kind][0]}</span>
      <span className="min-w-0">
        <span className="flex items-baseline gap-2">
          <span className={`shrink-0 text-xs font-semibold whitespace-nowrap sm:hidden ${INKS[need.kind]}`}>{KIND_NAMES[need.kind][0]}</span>
          <button type="button" onClick={onOpen} className="min-w-0 text-left font-serif text-[1.03rem] hover:underline max-sm:line-clamp-2 sm:truncate">{need.what}</button>
        </span>
        <span className="note block truncate">
          {need.agent && <AgentName id={need.agent} className="agent mr-1.5" />}{[need.where !== need.what && need.where, need.why].filter(Boolean).join(" · ")}
        </span>
      </span>
      <Age at={need.at} className="note whitespace-nowrap" />
      <span className="flex items-center justify-end gap-1.5 sm:min-w-[10.25rem] max-sm:col-span-3 max-sm:justify-start max-sm:pl-7"><RowActs need={need} acts={acts} onOpen={onOpen} /></span>
    </li>
  );
}

/** What can be done from the list; names tell the rows apart. */
function RowActs({ need, acts, onOpen }: { need: Need; acts: Acts; onOpen: () => void }) {
  const named = (verb: string) => `${verb}: ${need.what}`;
  const { kind, run, task, budget } = need;
  if (kind === "approval" && run) {
    return (
      <>
        <Button small weight="main" aria-label={named("Approve")} onClick={() => acts.answer(run, { approve: true })}>Approve</Button>
        <Button small weight="danger" aria-label={named("Refuse")} onClick={() => acts.answer(run, { approve: false })}>Refuse</Button>
      </>
    );
  }
  if (kind === "loop" && run) {
    return (
      <>
        <Button small weight="main" aria-label={named("Go on")} busy={acts.goOn.isPending} onClick={() => acts.goOn.mutate(run)}>Go on</Button>
        <Button small weight="danger" aria-label={named("Stop")} busy={acts.stop.isPending} onClick={() => acts.stop.mutate(run)}>Stop</Button>
      </>
    );
  }
  if (kind === "budget" && budget) {
    return (
      <>
        <Button small weight="main" aria-label={named("Allow once more")} busy={acts.allow.isPending} onClick={() => acts.allow.mutate(budget)}>Allow once more</Button>
        <Link to="/usage" className="button small quiet" aria-label={named("Raise")}>Raise</Link>
      </>
    );
  }
  if (kind === "question") return <Button small aria-label={named("Answer")} onClick={onOpen}>Answer</Button>;
  if (kind === "review" && task) {
    return (
      <>
        <Button small aria-label={named("Mark done")} busy={acts.review.isPending} onClick={() => acts.review.mutate({ id: task.id, to: "done" })}>Done</Button>
        <Button small aria-label={named("Send back")} busy={acts.review.isPending} onClick={() => acts.review.mutate({ id: task.id, to: "in_progress" })}>Send back</Button>
      </>
    );
  }
  return (
    <>
      {(kind === "failed" || kind === "undelivered") && <Button small aria-label={named("Retry")} busy={acts.retry.isPending} onClick={() => acts.retry.mutate([need])}>{kind === "failed" ? "Retry" : "Deliver"}</Button>}
      <Button small weight="plain" aria-label={named("Dismiss")} onClick={() => acts.putAside([need])}>Dismiss</Button>
    </>
  );
}
