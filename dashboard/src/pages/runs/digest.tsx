// A run in short, for the panel beside a list: why it stands where it does, its time, its reply.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Run } from "../../data/api";
import { receiptQuery } from "../../data/queries";
import { isNoReply, sessionOfRun } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Ident } from "../../ui/ident";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { StateBadge } from "../../ui/state";
import { talkQuery } from "./data";
import { Why } from "./why";
import { Waterfall } from "./waterfall";

export function RunDigest({ run }: { run: Run }) {
  const receipt = useQuery(receiptQuery(run.id));
  const talk = useQuery(talkQuery(run));
  return (
    <div className="grid gap-4">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StateBadge state={run.state} /><AgentName id={run.agentId} className="agent" />
        <Link to="/sessions/$key" params={{ key: run.sessionKey }} className="underline">{sessionOfRun(run)}</Link><Age at={run.createdAt} ago className="note" />
      </p>
      <Ident text={run.id} what="run id" />
      <Why run={run} />
      <Loaded query={receipt}>{({ steps }) => <Waterfall run={run} steps={steps} messages={talk.data ?? []} hidesQueue={false} />}</Loaded>
      <section aria-label="Message"><p className="note">Message</p><Markdown text={run.message.text} /></section>
      {run.reply && !isNoReply(run.reply) && <section aria-label="Reply"><p className="note">Reply</p><Markdown text={run.reply} /></section>}
      <Link to="/runs/$id/context" params={{ id: run.id }} className="underline">What the agent was shown</Link>
    </div>
  );
}
