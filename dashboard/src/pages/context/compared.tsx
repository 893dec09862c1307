// What differs from the step before, or from any other run.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import type { Run } from "../../data/api";
import { receiptQuery, runQuery, runsQuery } from "../../data/queries";
import { firstLine, moment, titleOfRun } from "../../data/words";
import { Answers } from "../../ui/answers";
import { Button } from "../../ui/button";
import { Select } from "../../ui/choices";
import { Loaded } from "../../ui/failure";
import { isLive } from "../runs/data";
import { ReplayForm } from "../runs/replay";
import { compareSteps } from "./diff";
import { Differences } from "./difference";
import { linesOf, type Step } from "./model";
import { Fold } from "./parts";

const OFFERED = 50;

type Props = { run: Run; steps: Step[]; at: number; other: string | undefined; onChange: (other: string | undefined) => void };

export function Compared({ run, steps, at, other, onChange }: Props) {
  const before = steps[at - 1];
  const navigate = useNavigate();
  return (
    <Fold title="Difference" note={other ? "from another run" : before ? "from the step before" : "choose a run"} open={other !== undefined}>
      <Chooser run={run} other={other} hasBefore={before !== undefined} onChange={onChange} />
      {!isLive(run) && (
        <details className="py-2">
          <summary className="cursor-pointer text-sm text-soft hover:text-ink">Send it again and compare</summary>
          <div className="pt-2"><ReplayForm run={run} onBegun={(id) => void navigate({ to: "/runs/$id/context", params: { id }, search: { with: run.id } })} /></div>
        </details>
      )}
      {other !== undefined && <WithRun run={run.id} step={steps[at]!} other={other} />}
      {other === undefined && before && <FromStep before={before} after={steps[at]!} />}
      {other === undefined && !before && <p className="note py-2">This is the first step. Choose another run to compare with.</p>}
    </Fold>
  );
}

function FromStep({ before, after }: { before: Step; after: Step }) {
  const comparison = useMemo(() => compareSteps(before, after), [before, after]);
  const texts = new Map([before, after].flatMap((step) => linesOf(step.context.block, step.context.items)).map((line) => [line.id, line.text]));
  return <Differences comparison={comparison} texts={texts} />;
}

function Chooser({ run, other, hasBefore, onChange }: { run: Run; other: string | undefined; hasBefore: boolean; onChange: (other: string | undefined) => void }) {
  const [id, setId] = useState("");
  const near = (useQuery(runsQuery({ sessionKey: run.sessionKey, limit: OFFERED }, 1)).data?.rows ?? []).filter((each) => each.id !== run.id);
  const known = other === undefined || near.some((each) => each.id === other);
  const named = useQuery({ ...runQuery(other ?? ""), enabled: !known }).data?.run;
  const options = [
    { value: "", label: hasBefore ? "The step before" : "Choose a run of this session" },
    ...near.map((each) => ({ value: each.id, label: firstLine(`${titleOfRun(each)} · ${moment(Date.parse(each.createdAt))}`, 90) })),
    ...(known ? [] : [{ value: other, label: named ? titleOfRun(named) : other }]),
  ];
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== "") onChange(id.trim());
  };
  return (
    <form onSubmit={send} className="flex flex-wrap items-center gap-2">
      <span className="note">Compare with</span>
      <Select name="Compare with" value={other ?? ""} options={options} onChange={(value) => onChange(value || undefined)} />
      <input aria-label="Id of any run" placeholder="or the id of any run" value={id} onChange={(event) => setId(event.target.value)} className="field w-56! font-mono text-sm" />
      <Button type="submit">Compare</Button>
    </form>
  );
}

/** From the last step of the other run, which led to its reply, to the step that is shown here. */
function WithRun({ run, step, other }: { run: string; step: Step; other: string }) {
  const receipt = useQuery(receiptQuery(other));
  const named = useQuery(runQuery(other)).data?.run;
  return (
    <>
      <p className="note pt-2">From the last step of <Link to="/runs/$id/context" params={{ id: other }} className="underline">{named ? titleOfRun(named) : other}</Link> to this step: what was added is green, what is gone is red.</p>
      <Answers before={other} after={run} />
      <Loaded query={receipt}>
        {({ steps }) => {
          const last = steps.at(-1);
          return last ? <FromStep before={last} after={step} /> : <p className="note py-2">Nothing was sent to a model in that run.</p>;
        }}
      </Loaded>
    </>
  );
}
