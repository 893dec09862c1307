// Runs against the clock: one row each, queue time and work, within a stretch of time that is chosen in the address.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Run } from "../../data/api";
import { titleOfRun } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Select } from "../../ui/choices";
import { useRowKeys } from "../../ui/keys";
import { useNow } from "../../ui/now";
import { StateBadge } from "../../ui/state";
import type { RunsSearch } from "./address";
import { Axis, Bars, Legend, type Span, type Stretch, type Tone } from "./bars";
import { duration, isLive, timesOf } from "./data";

type Props = { runs: Run[]; search: RunsSearch; onChange: (part: Partial<RunsSearch>) => void; onOpen: (run: Run) => void };

const ROW_PX = 40;
const MINUTE = 60_000;
const RANGES: [string, string, number][] = [
  ["15m", "15 minutes", 15 * MINUTE], ["1h", "1 hour", 60 * MINUTE], ["6h", "6 hours", 360 * MINUTE], ["1d", "1 day", 1_440 * MINUTE],
  ["7d", "7 days", 10_080 * MINUTE], ["30d", "30 days", 43_200 * MINUTE],
];
// By default the shortest range is shown that has so many runs, or all of them.
const RUNS_ENOUGH = 25;

export function RunTimeline({ runs, search, onChange, onOpen }: Props) {
  const now = useNow(runs.some(isLive));
  const hidesQueue = search.queue === "hidden";
  const newest = Math.max(...runs.map((run) => timesOf(run, now).ended));
  const range = RANGES.find(([id]) => id === search.range) ?? fitting(runs, newest, now);
  const shown = useMemo(() => runs.filter((run) => timesOf(run, now).ended >= newest - range[2]), [runs, now, newest, range]);
  const stretch = stretchOf(shown, now, newest, range[2], hidesQueue);
  const isLong = stretch.to - stretch.from > 2 * RANGES[3]![2];
  const words = (time: number) => isLong
    ? new Date(time).toLocaleDateString([], { day: "numeric", month: "short" })
    : new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: stretch.to - stretch.from < 10 * MINUTE ? "2-digit" : undefined });
  return (
    <section aria-label="Timeline" className="py-2">
      <div className="flex flex-wrap items-center gap-x-5 gap-y-1 py-1">
        <Select name="Range" value={range[0]} options={RANGES.map(([value, label]) => ({ value, label: `The last ${label}` }))} onChange={(value) => onChange({ range: value })} />
        <Legend tones={[...(hidesQueue ? [] : [["queue", "in the queue"] as [Tone, string]]), ["model", "worked"], ["failed", "failed"], ["waiting", "waits for an answer"], ["cancelled", "cancelled"]]} />
      </div>
      <div className="grid gap-x-4 py-1 md:grid-cols-[minmax(0,24rem)_minmax(0,1fr)_4.5rem]"><span className="max-md:hidden" /><Axis stretch={stretch} words={words} /></div>
      <Rows runs={shown} stretch={stretch} now={now} hidesQueue={hidesQueue} openId={search.peek} onOpen={onOpen} />
    </section>
  );
}

function fitting(runs: Run[], newest: number, now: number): [string, string, number] {
  const enough = Math.min(RUNS_ENOUGH, runs.length);
  return RANGES.find(([, , length]) => runs.filter((run) => timesOf(run, now).queued >= newest - length).length >= enough) ?? RANGES.at(-1)!;
}

/** Return from the first to the last thing that is shown: an empty hour at the side would only make the bars small. */
function stretchOf(runs: Run[], now: number, newest: number, length: number, hidesQueue: boolean): Stretch {
  const begins = runs.map((run) => (hidesQueue ? timesOf(run, now).began : timesOf(run, now).queued));
  return { from: Math.max(newest - length, Math.min(newest, ...begins)), to: newest };
}

type RowsProps = { runs: Run[]; stretch: Stretch; now: number; hidesQueue: boolean; openId?: string; onOpen: (run: Run) => void };

function Rows({ runs, stretch, now, hidesQueue, openId, onOpen }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  useRowKeys(list);
  const virtual = useWindowVirtualizer({ count: runs.length, estimateSize: () => ROW_PX, overscan: 10, scrollMargin: top });
  return (
    <div ref={list} className="relative border-t border-rule" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const run = runs[item.index];
        if (run === undefined) return null;
        const spans = spansOf(run, now, hidesQueue);
        const { queued, began, ended } = timesOf(run, now);
        return (
          <button
            key={run.id} type="button" data-row="" onClick={() => onOpen(run)} aria-current={run.id === openId || undefined}
            aria-label={`${titleOfRun(run)}: ${spans.map((span) => span.name).join(", ")}`}
            className="absolute inset-x-0 grid h-10 items-center gap-x-4 border-b border-rule text-left hover:bg-green-wash/50 aria-[current]:bg-green-wash md:grid-cols-[minmax(0,24rem)_minmax(0,1fr)_4.5rem]"
            style={{ top: item.start - top }}
          >
            <span className="flex min-w-0 items-center gap-2"><StateBadge state={run.state} label="" className="gap-0!" /><span className="truncate">{titleOfRun(run)}</span><AgentName id={run.agentId} className="note ml-auto shrink-0 max-md:hidden" /></span>
            <Bars spans={spans} stretch={stretch} />
            <span className="note text-right max-md:hidden">{duration(ended - (hidesQueue ? began : queued))}</span>
          </button>
        );
      })}
    </div>
  );
}

const TONES: Partial<Record<Run["state"], Tone>> = { failed: "failed", waiting: "waiting", running: "running", cancelled: "cancelled" };

function spansOf(run: Run, now: number, hidesQueue: boolean): Span[] {
  const { queued, began, ended } = timesOf(run, now);
  const queue: Span = { from: queued, to: began, tone: "queue", name: `in the queue for ${duration(began - queued)}` };
  const words = run.state === "waiting" ? "waiting for an answer, since the start" : run.state === "running" ? "running for" : run.state;
  const work: Span = { from: began, to: ended, tone: TONES[run.state] ?? "model", name: `${words} ${run.state === "running" ? "" : "after "}${duration(ended - began)}`.replace("  ", " ") };
  return [...(hidesQueue ? [] : [queue]), ...(run.startedAt === null ? [] : [work])];
}
