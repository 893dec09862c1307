// A replay: a step of the run is asked once more, and the two answers stand side by side. No call is made.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run, type Shapes } from "../../data/api";
import { receiptQuery } from "../../data/queries";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/form";
import { Markdown } from "../../ui/markdown";
import { duration } from "./data";

type Answer = Shapes["ModelAnswer"];

export function Replay({ run }: { run: Run }) {
  const steps = useQuery(receiptQuery(run.id)).data?.steps.length ?? 0;
  const [gateway, setGateway] = useState("");
  const [model, setModel] = useState("");
  const [step, setStep] = useState("");
  const replay = useAction({
    act: () => ask(api.POST("/api/runs/{id}/replay", { params: { path: { id: run.id } }, body: { gateway: gateway.trim() || null, model: model.trim() || null, step: step === "" ? null : Number(step) } })),
    failed: "Nothing was replayed",
  });
  const found = replay.data;
  return (
    <div className="grid gap-3">
      <form aria-label="Replay" className="flex flex-wrap items-end gap-2" onSubmit={(event) => { event.preventDefault(); replay.mutate(); }}>
        <TextField label="Gateway" placeholder="the agent's" value={gateway} onChange={(event) => setGateway(event.target.value)} />
        <TextField label="Model" placeholder="the same" value={model} onChange={(event) => setModel(event.target.value)} />
        <TextField label="Step" type="number" min={1} max={Math.max(1, steps)} placeholder="the last" value={step} onChange={(event) => setStep(event.target.value)} />
        <Button type="submit" busy={replay.isPending}>{replay.isPending ? "Asking…" : "Replay"}</Button>
      </form>
      <p className="note">Sends the stored request once more and shows both answers. Tool calls are shown, not made.</p>
      {found && (
        <div role="group" aria-label="Answers" className="grid gap-4 md:grid-cols-2">
          <Side name="Then" answer={found.original} />
          <Side name="Now" answer={found.replayed} />
        </div>
      )}
      {found?.difference.same && <p role="status" className="note">The two answers are the same.</p>}
    </div>
  );
}

function Side({ name, answer }: { name: string; answer: Answer }) {
  return (
    <article aria-label={name} className="min-w-0 border-t border-rule pt-2">
      <p className="note"><b className="font-medium text-ink">{name}</b> · {answer.model} · {duration(answer.milliseconds)}</p>
      {answer.text !== "" && <Markdown text={answer.text} />}
      {answer.calls.map((call, i) => <pre key={i} tabIndex={0} className="code wrap">{call.name}({call.arguments})</pre>)}
    </article>
  );
}
