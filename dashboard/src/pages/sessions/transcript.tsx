// The transcript of one generation. Only the lines in view are drawn; older ones are read when the top is reached.

import { useVirtualizer } from "@tanstack/react-virtual";
import { Link } from "@tanstack/react-router";
import { memo, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import type { Message, Session } from "../../data/api";
import { capital, firstLine, isNoReply, sourceOf } from "../../data/words";
import { Age } from "../../ui/age";
import { useAgentName } from "../../ui/agent";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { SkeletonRows } from "../../ui/skeleton";
import { Tools } from "../runs/tools";
import { toolsIn, type ToolUse } from "../runs/data";
import { useTranscript } from "./history";

export type Line = { id: string; message: Message; uses: ToolUse[] };

const GUESS_PX = 76;
const NEAR_TOP_PX = 400;
const NEAR_END_PX = 80;

/** Join each call with its result, and calls that follow each other in one line. */
export function linesOf(messages: Message[], hidesTools: boolean): Line[] {
  const lines: Line[] = [];
  const results = toolsIn(messages);
  let used = 0;
  for (const message of messages) {
    if (message.role === "toolResult") continue;
    const calls = message.content.filter((block) => block.type === "toolCall").length;
    const uses = results.slice(used, used + calls);
    used += calls;
    if (message.role !== "toolCall") lines.push({ id: message.id, message, uses });
    else if (hidesTools) continue;
    else if (lines.at(-1)?.message.role === "toolCall") lines.at(-1)?.uses.push(...uses);
    else lines.push({ id: message.id, message, uses });
  }
  return lines;
}

export function Transcript({ session, reference, hidesTools }: { session: Session; reference: string; hidesTools: boolean }) {
  const { newest, messages, hasOlder, isReading, older } = useTranscript(session.key, reference);
  const lines = useMemo(() => linesOf(messages, hidesTools), [messages, hidesTools]);
  const nameOf = useAgentName();
  return (
    <Loaded query={newest} waiting={<SkeletonRows label="Loading the transcript" />}>
      {(page) => page.messages.length === 0
        ? <Empty title="Nothing was said here yet." />
        : <Lines key={reference} lines={lines} agent={nameOf(session.agentSlug)} hasOlder={hasOlder} isReading={isReading} older={older} />}
    </Loaded>
  );
}

type LinesProps = { lines: Line[]; agent: string; hasOlder: boolean; isReading: boolean; older: () => Promise<void> };

function Lines({ lines, agent, hasOlder, isReading, older }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  // Whoever reads the end sees new lines; whoever scrolled up stays where they are.
  const follows = useRef(true);
  const first = useRef(lines[0]?.id);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => box.current, estimateSize: () => GUESS_PX, overscan: 8, getItemKey: (i) => lines[i]?.id ?? i });
  useLayoutEffect(() => {
    if (follows.current && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines.length, virtual]);
  useLayoutEffect(() => {
    // Older lines came in above: keep the line that was first where it was.
    const at = lines.findIndex((line) => line.id === first.current);
    if (at > 0 && !follows.current) virtual.scrollToIndex(at, { align: "start" });
    first.current = lines[0]?.id;
  }, [lines, virtual]);
  useEffect(() => {
    const place = box.current;
    if (place === null) return;
    const scrolled = () => {
      follows.current = place.scrollHeight - place.scrollTop - place.clientHeight < NEAR_END_PX;
      if (place.scrollTop < NEAR_TOP_PX && !follows.current) void older();
    };
    place.addEventListener("scroll", scrolled, { passive: true });
    return () => place.removeEventListener("scroll", scrolled);
  }, [older]);
  return (
    <>
      <p className="note flex min-h-7 items-center gap-3 py-1">
        {isReading ? "Reading older messages…" : hasOlder ? <button type="button" className="underline" onClick={() => { follows.current = false; void older(); }}>Show older messages</button> : "This is where it begins."}
      </p>
      <div ref={box} role="log" aria-label="Transcript" tabIndex={0} className="h-[calc(100dvh-19rem-var(--banner,0px))] min-h-80 overflow-y-auto border-t border-rule [overflow-anchor:none]">
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const line = lines[item.index];
            return line && (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
                <LineView line={line} agent={agent} />
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

const LineView = memo(function LineView({ line, agent }: { line: Line; agent: string }) {
  const { message, uses } = line;
  const isAgent = message.role === "assistant" || message.role === "toolCall";
  const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("\n").trim();
  const files = message.content.flatMap((block) => (block.type === "attachment" ? [block.attachmentId] : []));
  return (
    <article className={`border-b border-rule px-1 py-2.5 ${message.role === "user" ? "bg-leaf/70" : ""}`}>
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className={isAgent ? "agent" : "agent text-soft!"}>{isAgent ? agent : capital(message.role)}</span>
        {message.role === "user" && <span className="note">{sourceOf(message.provenance)}</span>}
        <span className="ml-auto flex items-baseline gap-3">
          {message.runId && <Link to="/runs/$id" params={{ id: message.runId }} className="note underline">Run</Link>}
          {message.runId && message.role === "assistant" && <Link to="/runs/$id/context" params={{ id: message.runId }} className="note underline">What it was shown</Link>}
          <Age at={message.timestamp} ago className="note" />
        </span>
      </p>
      {text !== "" && (isNoReply(text) ? <p className="note">No reply was needed.</p> : <Said text={text} />)}
      {files.length > 0 && <p className="note flex gap-3">{files.map((id, i) => <a key={id} href={`/api/attachments/${encodeURIComponent(id)}`} download className="underline">File {files.length > 1 ? i + 1 : ""}</a>)}</p>}
      {uses.length > 0 && <Tools uses={uses} />}
    </article>
  );
});

const LONG = 4_000;

/** A long text is folded: one message must not take the whole window. */
function Said({ text }: { text: string }) {
  if (text.length <= LONG) return <Markdown text={text} className="max-w-[52rem]" />;
  return (
    <details>
      <summary className="underline">{firstLine(text)} <span className="note">{text.length.toLocaleString("en")} characters</span></summary>
      <Markdown text={text} className="max-w-[52rem]" />
    </details>
  );
}
