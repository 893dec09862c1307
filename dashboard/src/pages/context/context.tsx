// The context inspector: for every step of a run exactly what the agent was shown, how large each part was, why each recalled
// line is there and what was left out; compared with another step or run, and with what another question would bring.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { api, ask, type Run } from "../../data/api";
import { runQuery } from "../../data/queries";
import { moment, plural, sessionOfRun, titleOfRun } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Facts } from "../../ui/facts";
import { Loaded } from "../../ui/failure";
import { useShortcuts } from "../../ui/keys";
import { SkeletonRows } from "../../ui/skeleton";
import { Ident } from "../../ui/ident";
import { Title } from "../../ui/title";
import type { ContextSearch } from "./address";
import { Compared } from "./compared";
import { charsPerToken, linesOf, type PartName, partsOf, type Step } from "./model";
import { Block, Body, Fold, Input, Instructions, Output, placeOf, ToolsSent } from "./parts";
import { LeftOut, RecalledLines } from "./recalled";
import { Sizes } from "./sizes";
import { Source } from "./source";
import { WhatIf } from "./whatif";

const ROUTE = "/runs/$id/context";
// As much of a question as the server looks at.
const QUESTION_CHARS_MAX = 500;

const wholeReceipt = (id: string) => queryOptions({
  queryKey: ["run", id, "receipt", "body"],
  queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}/receipt", { params: { path: { id }, query: { body: true } }, signal })),
});

export function ContextPage() {
  const { id } = useParams({ from: ROUTE });
  const run = useQuery(runQuery(id)).data?.run;
  const receipt = useQuery(wholeReceipt(id));
  return (
    <>
      <Title name="Runs" subject={run ? titleOfRun(run) : undefined} actions={<Link to="/runs/$id" params={{ id }} className="button quiet">The run</Link>}>
        {run && <p className="mt-1.5"><span className="font-serif text-lg">What the agent was shown</span> <AgentName id={run.agentId} className="agent ml-2" /> <Link to="/sessions/$key" params={{ key: run.sessionKey }} className="ml-2 text-sm underline">{sessionOfRun(run)}</Link></p>}
      </Title>
      <Loaded query={receipt} waiting={<SkeletonRows label="Loading the receipt" />}>
        {({ steps }) => steps.length === 0 || run === undefined
          ? <Empty title="Nothing was sent to a model in this run."><p>A receipt is written before the first request; a run that waits in its queue, or was cancelled there, has none.</p></Empty>
          : <Inspected run={run} steps={steps} />}
      </Loaded>
    </>
  );
}

function Inspected({ run, steps }: { run: Run; steps: Step[] }) {
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const at = stepAt(steps, search.step);
  const step = steps[at]!;
  const change = (part: Partial<ContextSearch>) => void navigate({ search: (before) => ({ ...before, ...part }), resetScroll: false });
  const go = (by: number) => () => change({ step: steps[Math.min(steps.length - 1, Math.max(0, at + by))]?.n });
  useShortcuts([{ keys: "j", does: "Next step", run: go(1) }, { keys: "k", does: "Previous step", run: go(-1) }]);
  const { ratio, isMeasured } = charsPerToken(steps, run.usage.inputTokens);
  const lines = linesOf(step.context.block, step.context.items);
  // What was asked for stands first.
  const compared = <Compared run={run} steps={steps} at={at} other={search.with} onChange={(other) => change({ with: other })} />;
  return (
    <>
      {steps.length > 1 && <Steps steps={steps} current={at} />}
      <Facts label="This step" facts={[
        { name: "Step", value: `${at + 1} of ${steps.length}${step.attempt > 1 ? `, attempt ${step.attempt}` : ""}` },
        { name: "Model", value: step.model || "unknown" },
        { name: "Sent", value: step.sentAt ? moment(Date.parse(step.sentAt)) : "nothing was sent" },
        { name: "Request", value: <Ident text={step.bodySha256} what="hash of the request" /> },
      ]} />
      <Sizes parts={partsOf(step)} ratio={ratio} isMeasured={isMeasured} onPick={unfold} />
      {search.with !== undefined && compared}
      <Fold id={placeOf("context")} title="Recalled" note={lines.length === 0 ? "nothing" : `${plural(lines.length, "line")} · ${step.context.layers.map((layer) => layer.split(":")[1]?.replaceAll("_", " ")).join(", ")}`} open>
        {lines.length === 0 ? <p className="note">The agent was shown nothing besides the conversation.</p> : <RecalledLines lines={lines} />}
        {step.context.block !== "" && <details className="mt-3"><summary className="note underline">The block as it was sent</summary><div className="mt-1"><Block text={step.context.block} what="context block" /></div></details>}
      </Fold>
      <Fold title="Left out" note={leftOutNote(step)} open={leftOutNote(step) !== "nothing"}>
        <LeftOut historyOmitted={step.historyOmitted} omitted={step.context.omitted} leftOut={step.leftOut} degraded={step.context.degraded} />
      </Fold>
      {search.with === undefined && compared}
      <section aria-label="Ask again" className="border-t border-rule py-2">
        <p className="flex flex-wrap items-baseline gap-3"><span className="font-serif text-lg">Ask again with …</span><span className="note">Another question, depth, recall or size: see what would be shown. Nothing runs.</span>
          {search.ask !== "1" && <Button small className="ml-auto" onClick={() => change({ ask: "1", q: run.message.text.slice(0, QUESTION_CHARS_MAX) })}>Ask again</Button>}
        </p>
        {search.ask === "1" && <WhatIf sessionKey={run.sessionKey} asked={search} shown={lines} onAsk={change} />}
      </section>
      <Instructions step={step} />
      <Input step={step} />
      <ToolsSent step={step} ratio={ratio} />
      <Output step={step} />
      <Body step={step} />
      {search.item && <Source key={search.item} id={search.item} line={lines.find((line) => line.id === search.item)} onClose={() => change({ item: undefined })} />}
    </>
  );
}

/** Return the place of a step; by default the last one, which led to the reply. Attempts repeat numbers: the last counts. */
function stepAt(steps: Step[], wanted: number | undefined): number {
  const found = steps.findLastIndex((step) => step.n === wanted);
  return found === -1 ? steps.length - 1 : found;
}

function leftOutNote(step: Step): string {
  const lines = Object.values(step.context.omitted).reduce((sum, count) => sum + count, 0);
  const parts = [step.historyOmitted > 0 && plural(step.historyOmitted, "older message"), lines > 0 && plural(lines, "line"), step.leftOut.length > 0 && "what the gateway cannot be told", step.context.degraded && "a part that was late"];
  return parts.filter(Boolean).join(", ") || "nothing";
}

function unfold(name: PartName): void {
  const place = document.getElementById(placeOf(name));
  if (!(place instanceof HTMLDetailsElement)) return;
  place.open = true;
  place.scrollIntoView({ block: "start" });
  place.querySelector("summary")?.focus({ preventScroll: true });
}

function Steps({ steps, current }: { steps: Step[]; current: number }) {
  return (
    <nav aria-label="Steps" className="flex gap-1 overflow-x-auto py-3">
      {steps.map((step, i) => (
        <Link
          key={`${step.attempt}-${step.n}`} to="." search={(before: Record<string, unknown>) => ({ ...before, step: step.n })} resetScroll={false} aria-current={i === current ? "step" : undefined}
          className="rounded-md border border-rule px-3 py-1 text-sm whitespace-nowrap no-underline hover:border-edge aria-[current]:border-green aria-[current]:bg-green-wash aria-[current]:font-semibold"
        >
          Step {step.n}{step.attempt > 1 && <span className="note"> attempt {step.attempt}</span>}
        </Link>
      ))}
    </nav>
  );
}
