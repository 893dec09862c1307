// One run against the clock: its time in the queue, every request to the model, and every call of a tool.

import { Link } from "@tanstack/react-router";
import type { Message, Receipt, Run } from "../../data/api";
import { instant } from "../../data/words";
import { useNow } from "../../ui/now";
import { Axis, Bars, Legend, type Span, type Stretch } from "./bars";
import { duration, isLive, timesOf, toolsIn, type ToolUse } from "./data";

type Step = Receipt["steps"][number];
type Row = { key: string; label: string; step?: number; span: Span };

export function Waterfall({ run, steps, messages, hidesQueue }: { run: Run; steps: Step[]; messages: Message[]; hidesQueue: boolean }) {
  const now = useNow(isLive(run));
  const { queued, began, ended } = timesOf(run, now);
  const rows = rowsOf(run, steps, messages, now).filter((row) => !hidesQueue || row.span.tone !== "queue");
  const stretch: Stretch = { from: hidesQueue ? began : queued, to: Math.max(ended, ...rows.map((row) => row.span.to)) };
  return (
    <div className="grid gap-1">
      <Legend tones={[["queue", "queue"], ["model", "model"], ["tool", "tool"], ["failed", "failed or refused"]]} />
      <ol aria-label="Time" className="border-t border-rule">
        {rows.map((row) => (
          <li key={row.key} className="grid grid-cols-[minmax(0,8rem)_minmax(0,1fr)_5rem] items-center gap-x-3 border-b border-rule py-1 text-sm sm:grid-cols-[minmax(0,13rem)_minmax(0,1fr)_5.5rem]">
            <span className={`truncate ${row.span.tone === "tool" || row.step === undefined ? "text-soft" : ""}`}>
              {row.step === undefined ? row.label : <Link to="/runs/$id/context" params={{ id: run.id }} search={{ step: row.step }} className="underline">{row.label}</Link>}
            </span>
            <Bars spans={[row.span]} stretch={stretch} />
            <span className="note text-right whitespace-nowrap">{duration(row.span.to - row.span.from)}</span>
          </li>
        ))}
      </ol>
      <div className="grid grid-cols-[minmax(0,8rem)_minmax(0,1fr)_5rem] gap-x-3 sm:grid-cols-[minmax(0,13rem)_minmax(0,1fr)_5.5rem]"><span /><Axis stretch={stretch} parts={2} words={(time) => duration(time - stretch.from)} /></div>
    </div>
  );
}

function rowsOf(run: Run, steps: Step[], messages: Message[], now: number): Row[] {
  const { queued, began, ended } = timesOf(run, now);
  const said = messages.filter(({ role }) => role !== "user" && role !== "toolResult").map(({ timestamp }) => instant(timestamp) ?? 0);
  const rows: Row[] = [{ key: "queue", label: "Queue", span: { from: queued, to: began, tone: "queue", name: `in the queue for ${duration(began - queued)}` } }];
  steps.forEach((step, i) => {
    const from = instant(step.sentAt);
    if (from === null) return;
    const next = instant(steps[i + 1]?.sentAt) ?? ended;
    const isFailed = step.output === null && (i < steps.length - 1 || run.endedAt !== null);
    // The answer was there when what came of it was written down.
    const to = isFailed ? next : (said.find((time) => time >= from && time <= next) ?? next);
    const label = `Step ${step.n}${step.attempt > 1 ? `, attempt ${step.attempt}` : ""}`;
    rows.push({ key: `step-${step.attempt}-${step.n}`, label, step: step.n, span: { from, to, tone: isFailed ? "failed" : "model", name: `${label}: ${duration(to - from)}${isFailed ? ", no answer" : ""}` } });
  });
  return [...rows, ...toolsIn(messages).map((use) => toolRow(use, ended))].sort((one, other) => one.span.from - other.span.from);
}

function toolRow(use: ToolUse, ended: number): Row {
  const from = instant(use.calledAt) ?? ended;
  const to = instant(use.endedAt) ?? ended;
  const isDone = use.outcome === "done" || use.outcome === null;
  return { key: use.id, label: use.name, span: { from, to, tone: isDone ? "tool" : "failed", name: `${use.name}: ${duration(to - from)}, ${use.outcome ?? "under way"}` } };
}
