// Budgets as they stand, with what an owner can do: set one, allow it once more, remove it.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../data/action";
import { type Agent, api, ask, type Shapes } from "../data/api";
import { currentIdentity } from "../data/identity";
import { capital, compact, plural } from "../data/words";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Choose, TextField } from "./form";
import { type Column, Table } from "./table";

type Budget = Shapes["BudgetShape"];

const budgetsQuery = queryOptions({
  queryKey: ["budgets"],
  queryFn: ({ signal }) => ask(api.GET("/api/budgets", { signal })),
});
const CHANGED = () => [["budgets"]];

/** Show the budgets that only owners see: all of them, or those of one agent. */
export function Budgets({ agents, agent }: { agents: Agent[]; agent?: Agent }) {
  const identity = currentIdentity();
  const isOwner = identity.stage === "in" && identity.me.actor.kind === "owner";
  const [isNew, setNew] = useState(false);
  const budgets = useQuery({ ...budgetsQuery, enabled: isOwner });
  if (!isOwner || budgets.data === undefined) return null;
  const rows = budgets.data.budgets.filter((each) => agent === undefined || (each.scope === "agent" && each.subject === agent.id));
  return (
    <section aria-label="Budgets" className="grid grid-cols-[minmax(0,1fr)] gap-2 py-4">
      <div className="flex items-center justify-between gap-3 border-b border-rule pb-1">
        <h2 className="text-base">Budgets</h2><Button small onClick={() => setNew(true)}>Set a budget</Button>
      </div>
      {rows.length === 0 ? <p className="note">No budget: {agent ? `${agent.name} is` : "agents are"} not limited in what they use.</p> : <BudgetTable rows={rows} />}
      {isNew && <BudgetForm agents={agents} agent={agent} onClose={() => setNew(false)} />}
    </section>
  );
}

function BudgetTable({ rows }: { rows: Budget[] }) {
  const allow = useAction({ act: (budget: Budget) => ask(api.POST("/api/budgets/allow", { body: nameOf(budget) })), failed: "The budget was not allowed once more", stale: CHANGED });
  const remove = useAction({ act: (budget: Budget) => ask(api.DELETE("/api/budgets", { params: { query: nameOf(budget) } })), failed: "The budget was not removed", stale: CHANGED });
  const columns: Column<Budget>[] = [
    {
      name: "Of",
      className: "max-w-0 w-full",
      cell: (row) => (
        <div className="grid min-w-0 gap-1 py-0.5">
          <span className="truncate">{capital(row.title)}, {row.period === "day" ? "a day" : "in all"}</span>
          <span aria-hidden="true" className="h-1 max-w-80 rounded-full bg-rule"><span className={`block h-full rounded-full ${row.state === "within" ? "bg-green" : "bg-brass-edge"}`} style={{ width: `${Math.min(1, row.share) * 100}%` }} /></span>
          <span className="note">{usedOf(row)}{row.waiting > 0 && `; ${plural(row.waiting, "session")} waiting`}</span>
        </div>
      ),
    },
    { name: "Used", className: "text-right text-sm tabular-nums whitespace-nowrap", cell: (row) => `${Math.round(row.share * 100)} %` },
    {
      name: "Actions",
      className: "whitespace-nowrap",
      cell: (row) => (
        <span className="flex justify-end gap-2">
          {row.state !== "within" && <Button small weight="main" busy={allow.isPending} onClick={() => allow.mutate(row)}>Allow once more</Button>}
          {row.source === "owner" && <Button small weight="danger" busy={remove.isPending} onClick={() => remove.mutate(row)}>Remove</Button>}
        </span>
      ),
    },
  ];
  return <Table name="Budgets" rows={rows} columns={columns} idOf={(row) => `${row.scope}:${row.period}:${row.subject}`} titleOf={(row) => row.title} />;
}

function BudgetForm({ agents, agent, onClose }: { agents: Agent[]; agent?: Agent; onClose: () => void }) {
  const [of, setOf] = useState(agent?.id ?? "");
  const [tokens, setTokens] = useState("");
  const [cost, setCost] = useState("");
  const [runs, setRuns] = useState("");
  const save = useAction({
    act: () => ask(api.POST("/api/budgets", {
      body: { scope: of ? "agent" : "account", subject: of || null, tokens: numberIn(tokens), costUsd: numberIn(cost), runs: numberIn(runs) },
    })),
    failed: "The budget was not set",
    stale: CHANGED,
    quiet: true,
    done: onClose,
  });
  return (
    <Dialog open title="Set a budget" about="For a day (UTC). What is over it waits until the next day, or until you raise or allow it." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); save.mutate(); }}>
        <Choose label="Of" value={of} onChange={(event) => setOf(event.target.value)} options={[{ value: "", label: "The whole account" }, ...agents.map(({ id, name }) => ({ value: id, label: `Agent ${name}` }))]} />
        <div className="grid gap-4 sm:grid-cols-3">
          <TextField label="Tokens" type="number" min={1} value={tokens} onChange={(event) => setTokens(event.target.value)} />
          <TextField label="US dollars" type="number" min={0.01} step="any" value={cost} onChange={(event) => setCost(event.target.value)} />
          <TextField label="Runs" type="number" min={1} value={runs} onChange={(event) => setRuns(event.target.value)} />
        </div>
        {save.error && <p role="alert" className="complaint">{save.error.message}</p>}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={!tokens && !cost && !runs}>Set</Button></div>
      </form>
    </Dialog>
  );
}

const nameOf = ({ scope, subject, period }: Budget) => ({ scope, period, ...(subject === null ? {} : { subject }) });

const numberIn = (text: string): number | null => (text === "" ? null : Number(text));

function usedOf({ spent, limits }: Budget): string {
  const parts: string[] = [];
  if (limits.tokens !== null) parts.push(`${compact(spent.tokens ?? 0)} of ${compact(limits.tokens)} tokens`);
  if (limits.costUsd !== null) parts.push(`$${(spent.costUsd ?? 0).toFixed(2)} of $${limits.costUsd.toFixed(2)}`);
  if (limits.runs !== null) parts.push(`${spent.runs ?? 0} of ${plural(limits.runs, "run")}`);
  return parts.join(", ");
}
