// The sessions that a session spawned, and theirs, live; each can be stopped.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Session } from "../../data/api";
import { stateOfSession, titleOfSession } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { childrenQuery, useStop } from "./data";

// Sub-agents spawn no deeper than the settings allow, which is far less.
const DEPTH_MAX = 8;

export function Children({ sessionKey }: { sessionKey: string }) {
  return (
    <Loaded query={useQuery(childrenQuery(sessionKey))} waiting={<SkeletonRows count={3} />}>
      {(sessions) => sessions.length === 0
        ? <Empty title="This session has no sub-agents."><p>When its agent spawns some, they appear here.</p></Empty>
        : <ul aria-label="Sub-agents">{sessions.map((child) => <Child key={child.key} session={child} depth={1} />)}</ul>}
    </Loaded>
  );
}

function Child({ session, depth }: { session: Session; depth: number }) {
  const stop = useStop();
  const below = useQuery({ ...childrenQuery(session.key), enabled: depth < DEPTH_MAX }).data ?? [];
  const title = titleOfSession(session);
  return (
    <li className={depth > 1 ? "ml-3 border-l border-rule pl-4 sm:ml-5" : ""}>
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-3 border-b border-rule py-2">
        <div className="min-w-0">
          <Link to="/sessions/$key" params={{ key: session.key }} className="block truncate no-underline hover:underline">{title}</Link>
          <p className="note flex flex-wrap items-center gap-x-3"><StateBadge state={stateOfSession(session)} /><AgentName id={session.agentSlug} className="agent" /><Age at={session.updatedAt} ago /></p>
        </div>
        {session.state === "busy" && <Button small weight="danger" busy={stop.isPending} aria-label={`Stop ${title}`} onClick={() => stop.mutate(session)}>Stop</Button>}
      </div>
      {below.length > 0 && <ul>{below.map((child) => <Child key={child.key} session={child} depth={depth + 1} />)}</ul>}
    </li>
  );
}
