// Who worked on a task: its sessions, each with its generations, and the runs in them.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Run, Session, Task } from "../../data/api";
import { useDirectory } from "../../data/places";
import { runsQuery } from "../../data/queries";
import { compact, faultOf, firstLine, plural, stateOfSession, titleOfRun, whyEnded } from "../../data/words";
import { Age } from "../../ui/age";
import { Loaded } from "../../ui/failure";
import { StateBadge } from "../../ui/state";
import { taskSessionsQuery } from "./data";

export function Work({ task }: { task: Task }) {
  const { nameOf } = useDirectory();
  const runs = useQuery(runsQuery({ taskId: task.id }, 2));
  const sessions = useQuery(taskSessionsQuery(task.id));
  const waiting = (rows: Run[], known: Session[]) => rows.filter((run) => !known.some((session) => holds(session, run)));
  return (
    <Loaded query={sessions}>
      {({ sessions: known }) => (
        <Loaded query={runs}>
          {({ rows }) => (
            <div className="grid grid-cols-[minmax(0,1fr)] gap-5 py-4">
              {known.length + rows.length === 0 && <p className="note">No agent has worked on it yet.</p>}
              <Runs runs={waiting(rows, known)} label="Not in a session yet" />
              {byKey(known).map((generations) => (
                <section key={generations[0].key} aria-label={`Session of ${nameOf(generations[0].agentId)}`}>
                  <h3 className="flex flex-wrap items-baseline justify-between gap-2 text-base">
                    <Link to="/chat/$" params={{ _splat: generations[0].key }}>{nameOf(generations[0].agentId)}</Link>
                    <span className="note font-sans">{plural(generations.length, "generation")}</span>
                  </h3>
                  {generations.map((session) => <Generation key={session.generation} session={session} runs={rows.filter((run) => holds(session, run))} />)}
                </section>
              ))}
            </div>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

const holds = (session: Session, run: Run): boolean => run.sessionKey === session.key && (run.generation === session.generation || (run.generation === null && session.state !== "closed"));

/** Return the sessions by key, each with its generations, the newest first. */
function byKey(sessions: Session[]): [Session, ...Session[]][] {
  const keys = [...new Set(sessions.map(({ key }) => key))];
  return keys.map((key) => sessions.filter((each) => each.key === key).sort((one, other) => other.generation - one.generation) as [Session, ...Session[]]);
}

function Generation({ session, runs }: { session: Session; runs: Run[] }) {
  return (
    <div className="mt-2 border-l-2 border-rule pl-3">
      <p className="flex flex-wrap items-center gap-x-3 text-sm">
        <b className="font-semibold">Generation {session.generation}</b>
        <StateBadge state={stateOfSession(session)} />
        {session.closedReason && <span className="note">closed: {session.closedReason.replaceAll("_", " ")}</span>}
        <Age at={session.openedAt} ago className="note" />
        {session.totalTokens > 0 && <span className="note">{compact(session.totalTokens)} tokens</span>}
      </p>
      <Runs runs={runs} />
    </div>
  );
}

function Runs({ runs, label }: { runs: Run[]; label?: string }) {
  if (runs.length === 0) return null;
  return (
    <ul aria-label={label ?? "Runs"} className="grid grid-cols-[minmax(0,1fr)]">
      {runs.map((run) => (
        <li key={run.id} className="border-b border-rule/60 py-1.5 text-sm last:border-0">
          <p className="flex items-baseline justify-between gap-3">
            <RunLink run={run} /><span className="flex shrink-0 items-baseline gap-3"><StateBadge state={run.state} /><Age at={run.endedAt ?? run.startedAt ?? run.createdAt} ago className="note" /></span>
          </p>
          <p className="note truncate">{run.state === "failed" || run.state === "cancelled" ? whyEnded(run) : faultOf(run) || firstLine(run.reply)}</p>
        </li>
      ))}
    </ul>
  );
}

/** The page of a run may be built later than this one, so its route is followed by name. */
function RunLink({ run }: { run: Run }) {
  const target = { to: "/runs/$id", params: { id: run.id } } as unknown as { to: "/" };
  return <Link {...target} className="min-w-0 truncate">{titleOfRun(run)}</Link>;
}
