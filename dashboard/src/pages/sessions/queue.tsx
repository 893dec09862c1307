// The queue of a session: what runs now, what waits behind it, in which place and why.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Run } from "../../data/api";
import { titleOfRun } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { useCancel, whyQuery } from "../runs/data";
import { ReasonText } from "../runs/why";
import { queueQuery, useAdvance } from "./data";

export function Queue({ sessionKey }: { sessionKey: string }) {
  return (
    <Loaded query={useQuery(queueQuery(sessionKey))} waiting={<SkeletonRows count={3} />}>
      {({ running, runs }) => running === null && runs.length === 0
        ? <Empty title="Nothing is running and nothing waits."><Link to="/runs" search={{ session: sessionKey }} className="underline">Runs that have ended</Link></Empty>
        : (
          <ol aria-label="Queue">
            {running && <Entry run={running} place="now" />}
            {runs.map((run, i) => <Entry key={run.id} run={run} place={String(run.queuePosition ?? "")} canAdvance={i > 0 && isFresh(runs[i - 1])} />)}
          </ol>
        )}
    </Loaded>
  );
}

// A run that has begun goes on before others, and so does one that is about to start.
const isFresh = (before: Run | undefined): boolean => before !== undefined && before.startedAt === null && before.nextAttemptAt === null;

function Entry({ run, place, canAdvance = false }: { run: Run; place: string; canAdvance?: boolean }) {
  const cancel = useCancel();
  const advance = useAdvance();
  const why = useQuery({ ...whyQuery(run.id), enabled: run.state === "queued" }).data;
  return (
    <li className="grid grid-cols-[2.5rem_minmax(0,1fr)_auto] items-start gap-x-3 border-b border-rule py-2.5">
      <span className="font-serif text-lg text-soft">{place}</span>
      <div className="min-w-0">
        <Link to="/runs/$id" params={{ id: run.id }} className="no-underline hover:underline">{titleOfRun(run)}</Link>
        <p className="note flex flex-wrap items-center gap-x-3"><StateBadge state={run.state} /><Age at={run.startedAt ?? run.createdAt} prefix={run.startedAt ? "running for " : "waiting for "} /></p>
        {why?.reasons.map((reason) => <p key={reason.code} className="text-sm"><ReasonText reason={reason} /></p>)}
      </div>
      <div className="flex flex-wrap justify-end gap-2">
        {canAdvance && <Button small busy={advance.isPending} aria-label={`Move up ${titleOfRun(run)}`} onClick={() => advance.mutate(run)}>Move up</Button>}
        <Button small weight="danger" busy={cancel.isPending} aria-label={`Cancel ${titleOfRun(run)}`} onClick={() => cancel.mutate(run)}>Cancel</Button>
      </div>
    </li>
  );
}
