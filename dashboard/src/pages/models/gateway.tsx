// One gateway: how it is set, who uses it, and a test turn through it.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run } from "../../data/api";
import { runQuery } from "../../data/queries";
import { faultOf, instant, whyEnded } from "../../data/words";
import { Button } from "../../ui/button";
import { Loaded } from "../../ui/failure";
import { Choose } from "../../ui/form";
import { Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Gateway, KINDS, modelOf } from "./models";

const HELLO = "Say hello in one short sentence.";

type Props = { gateway: Gateway; run?: string; onRun: (id: string) => void; onClose: () => void };

export function GatewayPeek({ gateway, run, onRun, onClose }: Props) {
  const set = Object.entries(gateway.settings).filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0));
  const models = gateway.settings["models"];
  return (
    <Peek title={gateway.name} onClose={onClose}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
          <dt>State</dt><dd><StateBadge state={gateway.status} label={gateway.status === "ok" ? "Answers" : undefined} />{gateway.lastError && <span className="complaint block wrap-anywhere">{gateway.lastError}</span>}</dd>
          <dt>Speaks</dt><dd>{KINDS[gateway.kind] ?? gateway.kind}</dd>
          <dt>Model</dt><dd>{modelOf(gateway)}</dd>
          {Array.isArray(models) && models.length > 0 && <><dt>Models</dt><dd>{models.join(", ")}</dd></>}
          <dt>Waiting runs</dt><dd>{gateway.waitingRuns ?? 0}</dd>
          <dt>Agents</dt><dd>{gateway.agents.length === 0 ? "None" : gateway.agents.map((agent) => <Link key={agent.id} to="/agents" search={{ peek: agent.id }} className="mr-2 inline-block underline">{agent.name}</Link>)}</dd>
        </dl>
        <Trial gateway={gateway} run={run} onRun={onRun} />
        {set.length > 0 && (
          <section aria-label="As set">
            <h3 className="border-b border-rule pb-1 text-base">As set</h3>
            <dl className="grid grid-cols-[10rem_minmax(0,1fr)] gap-x-4 gap-y-1 py-2 text-[0.8125rem] [&_dt]:text-soft">
              {set.map(([name, value]) => <div key={name} className="contents"><dt><code>{name}</code></dt><dd className="wrap-anywhere"><code>{typeof value === "string" ? value : JSON.stringify(value)}</code></dd></div>)}
            </dl>
          </section>
        )}
      </div>
    </Peek>
  );
}

function Trial({ gateway, run, onRun }: { gateway: Gateway; run?: string; onRun: (id: string) => void }) {
  const able = gateway.agents.filter(({ enabled }) => enabled);
  const [agent, setAgent] = useState(able[0]?.id ?? "");
  const turn = useAction({
    act: async () => {
      // A session of its own: nobody's conversation has a test in it.
      const { sessionKey } = await ask(api.POST("/api/sessions", { body: { agentId: agent, channelType: "web", displayName: "Test turn" } }));
      return ask(api.POST("/api/runs", { body: { message: HELLO, sessionKey } }));
    },
    failed: "The test turn was not sent",
    done: ({ runId }) => onRun(runId),
  });
  return (
    <section aria-label="Test turn" className="grid gap-3">
      <h3 className="border-b border-rule pb-1 text-base">Test turn</h3>
      {able.length === 0 ? <p className="note">No enabled agent uses this gateway.</p> : (
        <div className="flex flex-wrap items-end gap-3">
          <Choose label="By agent" className="w-44" value={agent} onChange={(event) => setAgent(event.target.value)} options={able.map(({ id, name }) => ({ value: id, label: name }))} />
          <Button weight="main" busy={turn.isPending} onClick={() => turn.mutate()}>Say hello</Button>
        </div>
      )}
      {run && <Answered id={run} />}
    </section>
  );
}

function Answered({ id }: { id: string }) {
  return <Loaded query={useQuery(runQuery(id))} waiting={<SkeletonRows count={2} />}>{({ run }) => <Turn run={run} />}</Loaded>;
}

function Turn({ run }: { run: Run }) {
  const begun = instant(run.startedAt);
  const ended = instant(run.endedAt);
  const facts = [
    begun !== null && ended !== null && `${((ended - begun) / 1_000).toFixed(1)} s`,
    `${run.usage.inputTokens} tokens in, ${run.usage.outputTokens} out`,
    run.usage.costUsd !== null && `$${run.usage.costUsd.toFixed(4)}`,
  ].filter(Boolean);
  return (
    <div role="status" className="grid gap-2 rounded-r-lg border-l-[3px] border-rule bg-paper px-4 py-3">
      <StateBadge state={run.state} label={run.state === "completed" ? "It answered" : undefined} />
      {run.reply && <Markdown text={run.reply} />}
      {run.state === "failed" && <p className="complaint">{whyEnded(run)}</p>}
      {run.state === "queued" && <p className="note">{faultOf(run)}</p>}
      {run.state === "completed" && <p className="note">{facts.join(" · ")} · <Link to="/chat/$" params={{ _splat: run.sessionKey }} className="underline">open the session</Link></p>}
    </div>
  );
}
