// A replay: a step of the run is sent once more, by a run of its own, and the two answers stand side by side.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run } from "../../data/api";
import { receiptQuery, runQuery } from "../../data/queries";
import { Answers } from "../../ui/answers";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/form";
import { StateBadge } from "../../ui/state";
import { isLive } from "./data";

export function Replay({ run }: { run: Run }) {
  const { replay: shown } = useSearch({ from: "/runs/$id" });
  const navigate = useNavigate({ from: "/runs/$id" });
  const show = (replay: string) => void navigate({ search: (before) => ({ ...before, replay }), replace: true, resetScroll: false });
  return (
    <div className="grid gap-3">
      <ReplayForm run={run} onBegun={show} />
      {shown !== undefined && <Replayed run={run} id={shown} />}
    </div>
  );
}

/** `onBegun` is told the run that sends the step again. */
export function ReplayForm({ run, onBegun }: { run: Run; onBegun: (runId: string) => void }) {
  const steps = useQuery(receiptQuery(run.id)).data?.steps.length ?? 0;
  const [gateway, setGateway] = useState("");
  const [model, setModel] = useState("");
  const [step, setStep] = useState("");
  const replay = useAction({
    act: () => ask(api.POST("/api/runs/{id}/replay", { params: { path: { id: run.id } }, body: { gateway: gateway.trim() || null, model: model.trim() || null, step: step === "" ? null : Number(step) } })),
    failed: "Nothing was replayed",
    done: ({ runId }) => onBegun(runId),
  });
  return (
    <div className="grid gap-2">
      <form aria-label="Replay" className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_5rem_auto] items-end gap-2 max-sm:grid-cols-2" onSubmit={(event) => { event.preventDefault(); replay.mutate(); }}>
        <TextField label="Gateway" placeholder="the agent's" value={gateway} onChange={(event) => setGateway(event.target.value)} />
        <TextField label="Model" placeholder="the same" value={model} onChange={(event) => setModel(event.target.value)} />
        <TextField label="Step" type="number" min={1} max={Math.max(1, steps)} placeholder="last" value={step} onChange={(event) => setStep(event.target.value)} />
        <Button type="submit" busy={replay.isPending}>Replay</Button>
      </form>
      <p className="note">Sends the stored request once more and shows both answers. Tool calls are shown, not made.</p>
    </div>
  );
}

function Replayed({ run, id }: { run: Run; id: string }) {
  const again = useQuery(runQuery(id)).data?.run;
  if (again === undefined) return null;
  return (
    <>
      <p className="flex flex-wrap items-center gap-3">
        <StateBadge state={again.state} />
        <Link to="/runs/$id" params={{ id }} className="text-sm underline">The run of the replay</Link>
        <Link to="/runs/$id/context" params={{ id }} search={{ with: run.id }} className="text-sm underline">What differs in what they were sent</Link>
      </p>
      {again.error && <p role="status">{again.error.message}</p>}
      {!isLive(again) && !again.error && <Answers before={run.id} after={id} />}
    </>
  );
}
