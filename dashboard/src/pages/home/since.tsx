// What happened since this browser last looked at Home.

import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Run } from "../../data/api";
import { firstLine, instant, isNoReply } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { StateBadge } from "../../ui/state";

const STORAGE_KEY = "carrel.home.seen";
const SHOWN_FIRST = 8;
const FIRST_VISIT_HOURS = 24;

/** Return when this browser last left Home, 0 if it never did; it is noted again when it leaves. */
function useLastSeen(): number {
  const [seen] = useState(() => {
    try {
      return Number(localStorage.getItem(STORAGE_KEY)) || 0;
    } catch {
      return 0;
    }
  });
  useEffect(() => {
    const note = () => {
      try {
        localStorage.setItem(STORAGE_KEY, String(Date.now()));
      } catch {
        // Then everything of the last day is new.
      }
    };
    window.addEventListener("pagehide", note);
    return () => {
      window.removeEventListener("pagehide", note);
      note();
    };
  }, []);
  return seen;
}

export function Since({ recent }: { recent: Run[] }) {
  const seen = useLastSeen();
  const [all, setAll] = useState(false);
  const [from] = useState(() => seen || Date.now() - FIRST_VISIT_HOURS * 3_600_000);
  const runs = recent.filter((run) => (run.state === "completed" || run.state === "cancelled") && (instant(run.endedAt) ?? 0) > from);
  // The newest of each session stands for those before it.
  const ofSession = Map.groupBy(runs, (run) => run.sessionKey);
  const ended = [...ofSession.values()].flatMap(([newest]) => (newest === undefined ? [] : [newest]));
  const shown = all ? ended : ended.slice(0, SHOWN_FIRST);
  return (
    <section aria-labelledby="since">
      <h2 id="since" className="mb-2 flex items-baseline gap-3 text-[1.3rem]">Since you last looked <span className="note font-sans">{seen === 0 ? "the last day" : <Age at={seen} ago />}</span></h2>
      {ended.length === 0 && <p className="note">Nothing has ended since then.</p>}
      <ul className="border-t border-rule empty:border-0">
        {shown.map((run) => (
          <li key={run.id} className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-b border-rule py-1.5">
            <div className="min-w-0">
              <h3 className="truncate text-[1.0625rem]"><AgentName id={run.agentId} className="agent mr-2" /><Link to="/chat/$" params={{ _splat: run.sessionKey }} className="no-underline hover:underline">{run.sessionTitle}</Link><Times count={ofSession.get(run.sessionKey)?.length ?? 1} /></h3>
              <p className="truncate text-sm text-soft">{isNoReply(run.reply) ? "" : firstLine(run.reply)}</p>
            </div>
            <span className="grid justify-items-end"><StateBadge state={run.state} label={run.state === "completed" ? "Done" : undefined} /><Age at={run.endedAt} ago className="note" /></span>
          </li>
        ))}
      </ul>
      {ended.length > shown.length && <button type="button" className="button plain mt-1" onClick={() => setAll(true)}>Show all {ended.length}</button>}
    </section>
  );
}

function Times({ count }: { count: number }) {
  return count > 1 && <span className="note ml-2 font-sans">{count} runs</span>;
}
