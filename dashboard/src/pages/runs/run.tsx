// One run: why it stands where it does, where its time and tokens went, what it called and what it handed in.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Run } from "../../data/api";
import { receiptQuery, runQuery } from "../../data/queries";
import { compact, isNoReply, sessionOfRun, sourceOf, titleOfRun } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Switch, Tabs } from "../../ui/choices";
import { Ident } from "../../ui/ident";
import { type Fact, Facts } from "../../ui/facts";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { Title } from "../../ui/title";
import { A2aView } from "./a2a";
import { Artifacts } from "./artifacts";
import { artifactsQuery, duration, isLive, money, talkQuery, timesOf, toolsIn, useCancel, useRetry } from "./data";
import { Replay } from "./replay";
import { Tools } from "./tools";
import { Waterfall } from "./waterfall";
import { Why } from "./why";

export function RunPage() {
  const { id } = useParams({ from: "/runs/$id" });
  const { tab } = useSearch({ from: "/runs/$id" });
  return (
    <Loaded query={useQuery(runQuery(id))} heading="Runs" waiting={<SkeletonRows label="Loading the run" />}>
      {({ run }) => (
        <>
          <Title name="Runs" subject={titleOfRun(run)} actions={<Actions run={run} />}><Line run={run} /></Title>
          <Tabs label="Views of this run" current={tab ?? "run"} tabs={[{ id: "run", label: "Run" }, { id: "a2a", label: "A2A" }]} />
          {tab === "a2a" ? <A2aView run={run} /> : <Overview run={run} />}
        </>
      )}
    </Loaded>
  );
}

function Line({ run }: { run: Run }) {
  return (
    <div className="mt-1.5 flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
      <StateBadge state={run.state} /><AgentName id={run.agentId} className="agent" />
      <Link to="/sessions/$key" params={{ key: run.sessionKey }} className="text-sm underline">{sessionOfRun(run)}</Link>
      {run.taskId && <Link to="/tasks/$id" params={{ id: run.taskId }} className="text-sm underline">Its task</Link>}
      {run.parentRunId && <Link to="/runs/$id" params={{ id: run.parentRunId }} className="text-sm underline">The run that started it</Link>}
      {run.steers && <Link to="/runs/$id" params={{ id: run.steers }} className="text-sm underline">The run that it was sent into</Link>}
      {sourceOf(run.provenance) && <span className="note">{sourceOf(run.provenance)}</span>}
      <Age at={run.createdAt} ago className="note" /><Ident text={run.id} what="run id" />
    </div>
  );
}

function Actions({ run }: { run: Run }) {
  const retry = useRetry();
  const cancel = useCancel();
  return (
    <>
      <Link to="/runs/$id/context" params={{ id: run.id }} className="button main">What it was shown</Link>
      {run.state === "failed" && <Button busy={retry.isPending} onClick={() => retry.mutate(run)}>Retry</Button>}
      {isLive(run) && <Button weight="danger" busy={cancel.isPending} onClick={() => cancel.mutate(run)}>Cancel run</Button>}
      <Link to="/chat/$" params={{ _splat: run.sessionKey }} className="button quiet">Open chat</Link>
    </>
  );
}

function Overview({ run }: { run: Run }) {
  const { queue } = useSearch({ from: "/runs/$id" });
  const navigate = useNavigate({ from: "/runs/$id" });
  const receipt = useQuery(receiptQuery(run.id));
  const talk = useQuery(talkQuery(run));
  const artifacts = useQuery(artifactsQuery(run.id));
  const uses = toolsIn(talk.data ?? []);
  const hide = (on: boolean) => void navigate({ search: (before) => ({ ...before, queue: on ? "hidden" : undefined }), replace: true, resetScroll: false });
  return (
    <>
      <Facts label="Figures" facts={factsOf(run, receipt.data?.steps.length, uses.length)} />
      <div className="grid gap-x-10 gap-y-6 py-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <div className="grid min-w-0 content-start gap-6">
          <Why run={run} />
          <Section name="Message"><Markdown text={run.message.text} /></Section>
          {run.reply && !isNoReply(run.reply) && <Section name="Reply"><Markdown text={run.reply} /></Section>}
          <Section name="Artifacts"><Loaded query={artifacts}>{(found) => <Artifacts artifacts={found.artifacts} />}</Loaded></Section>
        </div>
        <div className="grid min-w-0 content-start gap-6">
          <Section name="Time" aside={<Switch label="Hide queue time" on={queue === "hidden"} onChange={hide} />}>
            <Loaded query={receipt}>{({ steps }) => <Waterfall run={run} steps={steps} messages={talk.data ?? []} hidesQueue={queue === "hidden"} />}</Loaded>
          </Section>
          <Section name="Tools"><Loaded query={talk}>{() => <Tools uses={uses} />}</Loaded></Section>
          {(receipt.data?.steps.length ?? 0) > 0 && !isLive(run) && <Section name="Replay"><Replay run={run} /></Section>}
        </div>
      </div>
    </>
  );
}

function Section({ name, aside, children }: { name: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={name} className="min-w-0">
      <div className="mb-1.5 flex items-center justify-between gap-3"><h3 className="text-xl">{name}</h3>{aside}</div>
      {children}
    </section>
  );
}

function factsOf(run: Run, steps: number | undefined, tools: number): Fact[] {
  const { queued, began, ended } = timesOf(run, Date.now());
  const { inputTokens, cachedTokens, outputTokens, costUsd } = run.usage;
  return [
    { name: "In the queue", value: duration(began - queued) },
    run.startedAt !== null && { name: "Worked", value: isLive(run) ? <Age at={run.startedAt} /> : duration(ended - began) },
    { name: "Input", value: `${compact(inputTokens)} tokens`, note: inputTokens.toLocaleString("en") },
    cachedTokens > 0 && { name: "Cached", value: `${compact(cachedTokens)} tokens` },
    { name: "Output", value: `${compact(outputTokens)} tokens`, note: outputTokens.toLocaleString("en") },
    { name: "Cost", value: money(costUsd), note: costUsd === null ? "Neither the gateway nor the settings say what it costs." : undefined },
    steps !== undefined && { name: "Steps", value: String(steps) },
    { name: "Tool calls", value: String(tools) },
    { name: "Attempt", value: `${run.attempt} of ${run.attemptsMax}` },
  ];
}
