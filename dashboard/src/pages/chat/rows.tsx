// The rows of the transcript, one component for each kind of item.

import { memo, type ReactNode } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run } from "../../data/api";
import { faultOf, firstLine, isNoReply, sourceOf, targetOf, waitsFor, whyEnded } from "../../data/words";
import { Age } from "../../ui/age";
import { AnswerForm, Question, useCancel } from "../../ui/answer";
import { Button } from "../../ui/button";
import { Files } from "../../ui/files";
import { Markdown } from "../../ui/markdown";
import { type Item, type Line, textOf } from "./items";
import { ToolRow } from "./tool";

export type Acts = { resend: (line: Line) => void; discard: (line: Line) => void; showReceipt: (runId: string) => void; fork: (entryId: string) => void };

/** One item; a row is drawn again only when its own item changed. */
export const Row = memo(function Row({ item, agent, acts }: { item: Item; agent: string; acts: Acts }) {
  switch (item.kind) {
    case "said": return <Said item={item} agent={agent} acts={acts} />;
    case "tool": return <ToolRow call={item.call} result={item.result} />;
    case "aside": return <Frame kind="aside" speaker="Command"><p className="font-mono text-[0.8125rem]">{item.aside.text}</p><p className="text-sm whitespace-pre-wrap text-soft">{item.aside.reply}</p></Frame>;
    case "ended": return <Ended run={item.run} withMessage={item.withMessage} acts={acts} />;
    case "asks": return <Asks item={item} />;
    case "speaking": return <Speaking item={item} agent={agent} />;
    case "queued": return <Queued run={item.run} inTranscript={item.inTranscript} />;
    case "unsent": return <Unsent line={item.line} acts={acts} />;
  }
});

const WORDS: Record<string, string> = {
  assistant: "font-serif text-[1.0938rem] leading-relaxed",
  user: "justify-self-start max-w-full rounded-[3px_10px_10px] border border-rule bg-leaf px-3.5 py-2",
  waiting: "justify-self-start max-w-full rounded-[3px_10px_10px] border border-dashed border-edge px-3.5 py-2",
  refused: "justify-self-start max-w-full rounded-[3px_10px_10px] border border-dashed border-red-edge px-3.5 py-2",
  failed: "grid gap-2 rounded-r-lg border-l-[3px] border-red-edge bg-red-wash px-4 py-3",
  cancelled: "grid gap-2 border-l-[3px] border-edge px-4 py-2",
  asks: "grid gap-2 rounded-r-lg border-l-[3px] border-brass-edge bg-brass-wash px-4 py-3",
  system: "text-sm text-soft",
  aside: "",
};

/** A row with the speaker in the margin. */
function Frame({ kind, speaker, busy, children }: { kind: string; speaker: string; busy?: boolean; children: ReactNode }) {
  return (
    <article aria-label={speaker} aria-busy={busy} className="group grid max-w-[52rem] gap-x-4 [contain-intrinsic-size:auto_5rem] [content-visibility:auto] sm:grid-cols-[6.25rem_minmax(0,1fr)]">
      <p aria-hidden="true" data-speaker="" className={`text-[0.72rem] leading-snug font-semibold tracking-[0.06em] uppercase sm:pt-1 sm:text-right ${kind === "assistant" ? "text-green" : "text-soft"}`}>{speaker}</p>
      <div className={`min-w-0 ${WORDS[kind] ?? ""}`}>{children}</div>
    </article>
  );
}

function Foot({ children }: { children: ReactNode }) {
  return <p className="mt-1 flex flex-wrap items-center gap-x-3 font-sans text-xs text-soft [&_.button]:text-xs">{children}</p>;
}

function Said({ item, agent, acts }: { item: Extract<Item, { kind: "said" }>; agent: string; acts: Acts }) {
  const { message, receipt } = item;
  const mine = message.role === "user";
  const reported = message.provenance.kind === "reported";
  const source = mine || reported ? sourceOf(message.provenance) : message.role === "assistant" ? targetOf(item.asked) : "";
  const speaker = reported ? "Reported" : mine ? (source ? "Received" : "You") : message.role === "system" ? "System" : agent;
  const text = textOf(message);
  const silent = message.role === "assistant" && isNoReply(text);
  return (
    <Frame kind={message.role} speaker={speaker}>
      {silent ? <p className="note font-sans">The agent chose not to reply.</p> : <Markdown text={text} />}
      <Files files={item.files} />
      <Foot>
        {source && <span>{source}</span>}
        <Age at={message.timestamp} ago />
        {receipt !== null && <ReceiptButton runId={receipt} acts={acts} />}
        <Button weight="plain" className="pointer-fine:opacity-0 pointer-fine:group-focus-within:opacity-100 pointer-fine:group-hover:opacity-100" title="A chat of your own that starts with everything up to here" aria-label={`Fork from: ${firstLine(text, 60)}`} onClick={() => acts.fork(message.id)}>Fork from here</Button>
      </Foot>
    </Frame>
  );
}

function ReceiptButton({ runId, acts }: { runId: string; acts: Acts }) {
  return <Button weight="plain" onClick={() => acts.showReceipt(runId)}>What it was shown</Button>;
}

function Ended({ run, withMessage, acts }: { run: Run; withMessage: boolean; acts: Acts }) {
  const failed = run.state === "failed";
  const retry = useAction({
    act: () => ask(api.POST("/api/runs/{id}/retry", { params: { path: { id: run.id } } })),
    failed: "The run was not retried",
    stale: () => [["runs"], ["session", run.sessionKey]],
  });
  return (
    <Frame kind={run.state} speaker={failed ? "Failed" : "Cancelled"}>
      {withMessage && <p className="whitespace-pre-wrap text-soft">{run.message.text}</p>}
      <p className={`text-sm ${failed ? "text-red" : "text-soft"}`}>{failed ? "The run failed" : "The run was cancelled"}: {whyEnded(run)}</p>
      {failed && (
        <div className="flex flex-wrap items-center gap-2">
          <Button small busy={retry.isPending} onClick={() => retry.mutate()}>{retry.isSuccess ? "Retry again" : "Retry"}</Button>
          {!withMessage && <ReceiptButton runId={run.id} acts={acts} />}
          {retry.isSuccess && <span role="status" className="note">Queued again.</span>}
        </div>
      )}
    </Frame>
  );
}

function Asks({ item: { run, isShown, withMessage, byMessage } }: { item: Extract<Item, { kind: "asks" }> }) {
  const cancel = useCancel();
  return (
    <Frame kind="asks" speaker="Waiting">
      {withMessage && <p className="whitespace-pre-wrap text-soft">{run.message.text}</p>}
      <p className="text-sm text-brass">The agent {waitsFor(run)}.</p>
      {!isShown && <div className="font-serif text-lg"><Question run={run} /></div>}
      {byMessage && run.waitingFor !== "approval"
        ? <div><Button weight="plain" busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Cancel run</Button></div>
        : !byMessage && <AnswerForm run={run} />}
    </Frame>
  );
}

function Speaking({ item: { run, text, unspoken, working }, agent }: { item: Extract<Item, { kind: "speaking" }>; agent: string }) {
  const fault = working ? faultOf(run) : "";
  return (
    <>
      {unspoken !== "" && <Frame kind="user" speaker={sourceOf(run?.provenance) ? "Received" : "You"}><Markdown text={unspoken} /></Frame>}
      <Frame kind="assistant" speaker={agent} busy={working}>
        {text !== "" && <Markdown text={text} />}
        {fault !== "" && <p role="status" className="my-1 font-sans text-sm text-brass">{fault}</p>}
        {working && (
          <p className="flex items-center gap-2 pt-1 font-sans text-[0.8125rem] text-soft">
            <span aria-hidden="true" className="h-3 w-2.5 animate-lamp rounded-[1.5px] bg-green" /><span>working <Age at={run?.startedAt} /></span>
          </p>
        )}
      </Frame>
    </>
  );
}

function Queued({ run, inTranscript }: { run: Run; inTranscript: boolean }) {
  const cancel = useCancel();
  const source = sourceOf(run.provenance);
  const fault = faultOf(run);
  const place = run.steers ? "Heard at the agent's next step" : run.nextAttemptAt ? "Waiting to retry" : run.queuePosition === 1 ? "Waiting, next in line" : `Waiting, number ${run.queuePosition ?? "?"} in line`;
  return (
    <Frame kind="waiting" speaker={inTranscript || source ? "Queued" : "You"}>
      {!inTranscript && <Markdown text={run.message.text} />}
      {fault !== "" && <p role="status" className="my-1 text-sm text-brass">{fault}</p>}
      <Foot>
        <span className="text-brass">{place}</span>{source && <span>{source}</span>}
        <Button weight="plain" busy={cancel.isPending} aria-label={`Cancel: ${firstLine(run.message.text, 60)}`} onClick={() => cancel.mutate(run)}>Cancel</Button>
      </Foot>
    </Frame>
  );
}

function Unsent({ line, acts }: { line: Line; acts: Acts }) {
  const refused = line.state === "refused";
  return (
    <Frame kind={refused ? "refused" : "waiting"} speaker="You">
      <Markdown text={line.text} />
      {line.files.length > 0 && <p className="note">{line.files.map((file) => file.name).join(", ")}</p>}
      <Foot>
        <span role="status" className={refused ? "text-red" : ""}>{refused ? `Not sent: ${line.error}` : line.state === "accepted" ? "Accepted" : "Sending…"}</span>
        {refused && <><Button small onClick={() => acts.resend(line)}>Send again</Button><Button weight="plain" onClick={() => acts.discard(line)}>Discard</Button></>}
      </Foot>
    </Frame>
  );
}
