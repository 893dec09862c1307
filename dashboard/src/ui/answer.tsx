// A run that waits for a person: its question, and a form that answers or cancels it.

import { useId, useState } from "react";
import { useAction } from "../data/action";
import { api, ask, type Run } from "../data/api";
import { type Decision, textTakenBack } from "../data/held";
import { Button } from "./button";
import { Markdown } from "./markdown";

/** The question of a waiting run. What is to be approved is shown as it is: Markdown could hide a part of it. */
export function Question({ run }: { run: Run }) {
  const text = run.reply || run.note || "The agent is waiting but gave no question.";
  return run.waitingFor === "approval" ? <p className="whitespace-pre-wrap">{text}</p> : <Markdown text={text} />;
}

/** Return how to answer a waiting run; the failure is told in a toast, and `done` is called when it was taken. */
export function useAnswer(done?: (run: Run, decision: Decision) => void) {
  return useAction({
    act: ({ run, decision }: { run: Run; decision: Decision }) =>
      ask(api.POST("/api/runs/{id}/answer", { params: { path: { id: run.id } }, body: decision })),
    failed: "The answer was not taken",
    stale: ({ run }) => [["runs"], ["run", run.id], ["session", run.sessionKey]],
    done: (_answer, { run, decision }) => done?.(run, decision),
  });
}

export function useCancel(done?: (run: Run) => void) {
  return useAction({
    act: (run: Run) => ask(api.POST("/api/runs/{id}/cancel", { params: { path: { id: run.id } } })),
    failed: "The run was not cancelled",
    stale: (run) => [["runs"], ["run", run.id], ["session", run.sessionKey]],
    done: (_answer, run) => done?.(run),
  });
}

/** Approve and Refuse come first; a comment is optional, an answer is not. Enter sends an answer. */
type FormProps = {
  run: Run;
  autoFocus?: boolean;
  /** Take the decision instead of sending it at once. */
  onDecide?: (run: Run, decision: Decision) => void;
};

export function AnswerForm({ run, autoFocus = false, onDecide }: FormProps) {
  const id = useId();
  const [text, setText] = useState(() => textTakenBack(run.id));
  const answer = useAnswer();
  const cancel = useCancel();
  const approval = run.waitingFor === "approval";
  const busy = answer.isPending;
  const send = (decision: Decision) => {
    if (!approval && text.trim() === "") return document.getElementById(id)?.focus();
    const whole = text.trim() === "" ? decision : { ...decision, text: text.trim() };
    if (onDecide) onDecide(run, whole);
    else answer.mutate({ run, decision: whole });
  };
  const cancelButton = <Button weight="plain" className="ml-auto" busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Cancel run</Button>;
  if (run.waitingFor === "tool_output") return <div className="flex">{cancelButton}</div>;
  return (
    <div className="grid gap-2">
      {approval && (
        <div className="flex flex-wrap items-center gap-2">
          <Button weight="main" busy={busy} autoFocus={autoFocus} onClick={() => send({ approve: true })}>Approve</Button>
          <Button weight="danger" busy={busy} onClick={() => send({ approve: false })}>Refuse</Button>
          {cancelButton}
        </div>
      )}
      <label htmlFor={id} className="note text-ink!">{approval ? "Comment (optional)" : "Your answer"}</label>
      <textarea
        id={id} rows={approval ? 1 : 2} autoComplete="off" className="field" value={text} readOnly={busy} autoFocus={autoFocus && !approval}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || approval) return;
          event.preventDefault();
          send({});
        }}
      />
      {!approval && (
        <div className="flex flex-wrap items-center gap-2">
          <Button weight="main" busy={busy} onClick={() => send({})}>{busy ? "Sending…" : "Answer"}</Button>
          {cancelButton}
        </div>
      )}
    </div>
  );
}
