// Why a run stands where it does, what helps, and the buttons that do it.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run, type Shapes } from "../../data/api";
import { useGoOn, useStopSession } from "../../data/loops";
import { runQuery } from "../../data/queries";
import { faultOf, titleOfRun } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { useCancel, useRetry, whyQuery } from "./data";

// Actions that are buttons here; the others are words of advice.
const DONE_HERE = new Set(["retry", "cancel", "answer", "wait", "send the message again", "let it go on", "stop the session"]);

export function Why({ run }: { run: Run }) {
  const why = useQuery(whyQuery(run.id)).data;
  const retry = useRetry();
  const cancel = useCancel();
  const goOn = useGoOn();
  const stop = useStopSession();
  if (why === undefined || why.reasons.length === 0 || run.state === "completed") return null;
  const actions = new Set(why.reasons.flatMap((reason) => reason.actions));
  const look = run.state === "failed" ? "border-red-edge bg-red-wash" : "border-brass-edge bg-brass-wash";
  return (
    <section aria-label="Why" className={`grid gap-2 rounded-r-lg border-l-[3px] px-4 py-3 ${look}`}>
      {why.reasons.map((reason) => <Reason key={reason.code} run={run} reason={reason} />)}
      {run.state !== "failed" && faultOf(run) && <p className="text-sm">{faultOf(run)}</p>}
      <div className="flex flex-wrap gap-2">
        {run.state === "waiting" && run.waitingFor !== "tool_output" && <Answer run={run} />}
        {actions.has("let it go on") && <Button small weight="main" busy={goOn.isPending} onClick={() => goOn.mutate(run)}>Go on</Button>}
        {actions.has("stop the session") && <Button small busy={stop.isPending} onClick={() => stop.mutate(run)}>Stop the session</Button>}
        {actions.has("retry") && <Button small weight="main" busy={retry.isPending} onClick={() => retry.mutate(run)}>Retry</Button>}
        {actions.has("cancel") && <Button small weight="danger" busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Cancel</Button>}
      </div>
    </section>
  );
}

/** The reason in words; where it names the run that is ahead, by that run's title. */
export function ReasonText({ reason }: { reason: Shapes["Reason"] }) {
  const ahead = useQuery({ ...runQuery(reason.runId ?? ""), enabled: reason.code === "lane_busy" && reason.runId !== undefined }).data?.run;
  if (reason.code !== "lane_busy" || ahead === undefined) return <>{reason.text}</>;
  return <>Waits for its turn: “{titleOfRun(ahead)}” {ahead.state === "running" ? "is running" : "is next"} in this session.</>;
}

function Reason({ run, reason }: { run: Run; reason: Shapes["Reason"] }) {
  const advice = reason.actions.filter((action) => !DONE_HERE.has(action));
  const other = reason.runId && reason.runId !== run.id ? reason.runId : null;
  return (
    <div>
      <p><ReasonText reason={reason} /> <Age at={reason.since} ago className="note" /></p>
      {advice.length > 0 && <p className="text-sm"><span className="font-semibold">What helps:</span> {advice.join("; ").replaceAll("`", "")}.</p>}
      {other && <p className="text-sm"><Link to="/runs/$id" params={{ id: other }} className="underline">The run that holds the session</Link></p>}
    </div>
  );
}

/** Approve first where something is to be decided; a text where something was asked. */
function Answer({ run }: { run: Run }) {
  const [text, setText] = useState("");
  const answer = useAction({
    act: (body: { text?: string; approve?: boolean }) => ask(api.POST("/api/runs/{id}/answer", { params: { path: { id: run.id } }, body })),
    failed: "The answer was not sent",
  });
  if (run.waitingFor === "approval") {
    return (
      <p className="flex gap-2">
        <Button small weight="main" busy={answer.isPending} onClick={() => answer.mutate({ approve: true })}>Approve</Button>
        <Button small busy={answer.isPending} onClick={() => answer.mutate({ approve: false })}>Refuse</Button>
      </p>
    );
  }
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") answer.mutate({ text });
  };
  return (
    <form onSubmit={send} className="flex grow gap-2">
      <input aria-label="Your answer" value={text} onChange={(event) => setText(event.target.value)} className="field" />
      <Button type="submit" weight="main" busy={answer.isPending}>Answer</Button>
    </form>
  );
}
