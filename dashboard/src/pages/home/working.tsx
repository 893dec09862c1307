// Who is at work now: on what, since when, with how many tokens so far; and what waits behind it.

import { Link } from "@tanstack/react-router";
import type { Run } from "../../data/api";
import { compact, faultOf, firstLine, plural, sourceOf } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { useCancel } from "../../ui/answer";
import { Button } from "../../ui/button";

const DRAWN_MOST = 12;

type Props = { running: Run[]; queued: Run[] };

export function Working({ running, queued }: Props) {
  const behind = Map.groupBy(queued, (run) => run.sessionKey);
  // A session may have a queue and nothing running: it waits for a retry, or for a person.
  const waiting = [...behind.keys()].filter((key) => !running.some((run) => run.sessionKey === key));
  return (
    <section aria-labelledby="working">
      <h2 id="working" className="mb-2 text-[1.3rem]">At work</h2>
      {running.length + waiting.length === 0 && <p className="note">Nobody is working right now.</p>}
      <ul className="border-t border-rule empty:border-0">
        {running.map((run) => <Lane key={run.id} run={run} queue={behind.get(run.sessionKey) ?? []} />)}
        {waiting.map((key) => <Lane key={key} run={null} queue={behind.get(key) ?? []} />)}
      </ul>
    </section>
  );
}

function Lane({ run, queue }: { run: Run | null; queue: Run[] }) {
  const cancel = useCancel();
  const any = run ?? queue[0];
  if (any === undefined) return null;
  const title = any.sessionTitle;
  const sorted = queue.toSorted((one, other) => (one.queuePosition ?? 0) - (other.queuePosition ?? 0));
  return (
    <li className="border-b border-rule py-2">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4">
        <div className="min-w-0">
          <h3 className="truncate text-[1.0625rem]">
            <AgentName id={any.agentId} className="agent mr-2" />
            <Link to="/chat/$" params={{ _splat: any.sessionKey }} className="no-underline hover:underline">{title}</Link>
          </h3>
          <p className="truncate text-sm">{run ? firstLine(run.message.text) : faultOf(any) || "Waiting for its turn"}</p>
        </div>
        <div className="flex items-center gap-3">
          <Picture busy={run !== null} queued={queue.length} />
          <span className="note min-w-24 text-right">
            {run && <span className="block text-green"><Age at={run.startedAt} prefix="working " /></span>}
            {run && run.usage.totalTokens > 0 && <span className="block">{compact(run.usage.totalTokens)} tokens</span>}
          </span>
          {run && <Button small weight="plain" aria-label={`Stop: ${title}`} busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Stop</Button>}
        </div>
      </div>
      {queue.length > 0 && (
        <details>
          <summary className="note inline-block underline decoration-edge underline-offset-4">{plural(queue.length, "queued run")} of {title}</summary>
          <ol className="ml-2 border-l-2 border-rule pl-4">{sorted.map((each) => <Queued key={each.id} run={each} />)}</ol>
        </details>
      )}
    </li>
  );
}

function Queued({ run }: { run: Run }) {
  const cancel = useCancel();
  return (
    <li className="grid grid-cols-[1.5rem_minmax(0,1fr)_auto_auto] items-center gap-x-3 py-1 text-sm">
      <span className="text-soft">{run.queuePosition ?? "–"}</span>
      <span className="truncate">{firstLine(run.message.text) || "(no text)"}</span>
      <span className="note">{sourceOf(run.provenance)} <Age at={run.createdAt} /></span>
      <Button small aria-label={`Cancel: ${firstLine(run.message.text, 60)}`} busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Cancel</Button>
    </li>
  );
}

/** The queue as a small picture: the running run first, then a block for each that waits. */
function Picture({ busy, queued }: { busy: boolean; queued: number }) {
  const head = busy ? "1 running" : "nothing running";
  return (
    <span role="img" aria-label={queued > 0 ? `${head}, ${queued} queued` : head} className="inline-flex items-end gap-[3px] border-b-[1.5px] border-rule px-0.5 pb-[3px]">
      <span className={`h-[1.2rem] w-4 rounded-[1.5px] border-[1.5px] ${busy ? "animate-lamp border-green bg-green" : "border-dashed border-edge"}`} />
      {Array.from({ length: Math.min(queued, DRAWN_MOST) }, (_, i) => <span key={i} className="h-4 w-1.5 rounded-[1.5px] border-[1.5px] border-edge" />)}
      {queued > DRAWN_MOST && <span className="note leading-none">+{queued - DRAWN_MOST}</span>}
    </span>
  );
}
