// The lines that a run was shown besides its message: what each says, where it comes from, its score and its reason.

import { Link } from "@tanstack/react-router";
import { plural } from "../../data/words";
import { type Recalled, sectionName } from "./model";

export function RecalledLines({ lines, added = new Set() }: { lines: Recalled[]; added?: ReadonlySet<string> }) {
  const best = Math.max(...lines.map((line) => line.score ?? 0), 0.01);
  const sections = [...new Set(lines.map((line) => line.section))];
  return (
    <div className="grid gap-3">
      {sections.map((section) => (
        <div key={section}>
          <h4 className="note">{sectionName(section)}</h4>
          <ul className="border-t border-rule">
            {lines.filter((line) => line.section === section).map((line) => <Line key={line.id} line={line} best={best} isNew={added.has(line.id)} />)}
          </ul>
        </div>
      ))}
    </div>
  );
}

function Line({ line, best, isNew }: { line: Recalled; best: number; isNew: boolean }) {
  return (
    <li className={`grid gap-x-5 border-b border-rule py-1.5 sm:grid-cols-[minmax(0,1fr)_13rem] ${isNew ? "bg-green-wash/60" : ""}`}>
      <div className="min-w-0">
        <p className="whitespace-pre-wrap">{isNew && <span className="agent mr-2">new</span>}{line.text || line.id}</p>
        <p className="note">{line.reason}</p>
      </div>
      <div className="note min-w-0">
        {line.score !== null && (
          <p className="flex items-center gap-2"><span aria-hidden="true" className="h-1.5 grow rounded-full bg-rule"><span className="block h-full rounded-full bg-green" style={{ width: `${(100 * line.score) / best}%` }} /></span>score {line.score.toFixed(2)}</p>
        )}
        <p className="flex justify-between gap-2">
          <span className="truncate">{line.kind} · {line.scope}</span>
          <Link to="." search={(before: Record<string, unknown>) => ({ ...before, item: line.id })} resetScroll={false} className="shrink-0 underline" aria-label={`Open the source: ${line.text.slice(0, 60) || line.id}`}>Open</Link>
        </p>
      </div>
    </li>
  );
}

type LeftOutProps = { historyOmitted?: number; omitted: Record<string, number>; leftOut?: string[]; degraded: string | null | undefined };

const DEGRADED: Record<string, string> = { search_busy: "the search was busy", timeout: "the search took too long" };

/** Say what was not sent, and why. */
export function LeftOut({ historyOmitted = 0, omitted, leftOut = [], degraded }: LeftOutProps) {
  const told = [
    ...(historyOmitted > 0 ? [`${plural(historyOmitted, "older message")} of this session, because the transcript is longer than the model or delivery.history_chars_max allows.`] : []),
    ...Object.entries(omitted).filter(([, count]) => count > 0).map(([section, count]) => `${plural(count, "line")} of "${sectionName(section)}", because the block was full.`),
    ...(leftOut.length > 0 ? [`${leftOut.join(", ")}, because this kind of gateway cannot be told.`] : []),
    ...(degraded ? [`A part of the context, because ${DEGRADED[degraded] ?? `${degraded} could not be read in time`}.`] : []),
  ];
  if (told.length === 0) return <p className="note">Nothing was left out.</p>;
  return <ul className="list-disc pl-5">{told.map((words) => <li key={words}>{words}</li>)}</ul>;
}
