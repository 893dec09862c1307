// Budgets as they stand, with what an owner can do: set one, allow it once more, remove it.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../data/action";
import { type Agent, api, ask, type Budget } from "../data/api";
import { BUDGETS_CHANGED, budgetsQuery, useAllowBudget, useIsOwner } from "../data/budgets";
import { capital, compact, plural } from "../data/words";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Choose, TextField } from "./form";
import { type Column, Table } from "./table";

/** Show the budgets that only owners see: all of them, or those of one agent. */
export function Budgets({ agents, agent }: { agents: Agent[]; agent?: Agent }) {
  const isOwner = useIsOwner();
  const [isNew, setNew] = useState(false);
  const budgets = useQuery({ ...budgetsQuery, enabled: isOwner });
  if (!isOwner || budgets.data === undefined) return null;
  const rows = budgets.data.budgets.filter((each) => agent === undefined || (each.scope.startsWith("agent") && each.subject === agent.id));
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
  const allow = useAllowBudget();
  const remove = useAction({ act: (budget: Budget) => ask(api.DELETE("/api/budgets", { params: { query: { name: budget.name } } })), failed: "The budget was not removed", stale: BUDGETS_CHANGED });
  const columns: Column<Budget>[] = [
    {
      name: "Of",
      className: "max-w-0 w-full",
      cell: (row) => (
        <div className="grid min-w-0 gap-1 py-0.5">
          <span className="sm:truncate">{capital(row.title)}, {PER[row.per]} <span className="note">{row.name}{row.action === "warn" && ", only warns"}</span></span>
          <span aria-hidden="true" className="h-1 max-w-80 rounded-full bg-rule"><span className={`block h-full rounded-full ${row.state === "within" ? "bg-green" : "bg-brass-edge"}`} style={{ width: `${Math.min(1, row.share) * 100}%` }} /></span>
          <span className="note">{usedOf(row)}{row.waiting > 0 && `; ${plural(row.waiting, "session")} waiting`}</span>
        </div>
      ),
    },
    { name: "Used", className: "text-right text-sm tabular-nums whitespace-nowrap max-sm:hidden", cell: (row) => `${Math.round(row.share * 100)} %` },
    {
      name: "Actions",
      bare: true,
      className: "whitespace-nowrap",
      cell: (row) => (
        <span className="flex items-end justify-end gap-2 max-sm:flex-col">
          {row.state !== "within" && row.action === "wait" && <Button small weight="main" busy={allow.isPending} onClick={() => allow.mutate(row)}>Allow once more</Button>}
          {row.source === "owner" && <Button small weight="danger" busy={remove.isPending} onClick={() => remove.mutate(row)}>Remove</Button>}
        </span>
      ),
    },
  ];
  return <Table name="Budgets" rows={rows} columns={columns} idOf={(row) => `${row.name}:${row.subject}`} titleOf={(row) => row.title} />;
}

function BudgetForm({ agents, agent, onClose }: { agents: Agent[]; agent?: Agent; onClose: () => void }) {
  const [name, setName] = useState(agent ? `${agent.id}-daily` : "");
  const [scope, setScope] = useState(agent ? `agent:${agent.id}` : "account");
  const [per, setPer] = useState<Budget["per"]>("day");
  const [action, setAction] = useState<Budget["action"]>("wait");
  const [tokens, setTokens] = useState("");
  const [usd, setUsd] = useState("");
  const [runs, setRuns] = useState("");
  const save = useAction({
    act: () => ask(api.POST("/api/budgets", { body: { name, scope, per, action, tokens: numberIn(tokens), usd: numberIn(usd), runs: numberIn(runs) } })),
    failed: "The budget was not set",
    stale: BUDGETS_CHANGED,
    quiet: true,
    done: onClose,
  });
  const scopes = [
    { value: "account", label: "The whole account" }, ...agents.map(({ id, name: agentName }) => ({ value: `agent:${id}`, label: `Agent ${agentName}` })),
    { value: "agent", label: "Each agent" }, { value: "task", label: "Each task" }, { value: "session", label: "Each session" },
  ];
  return (
    <Dialog open title="Set a budget" about="Days and months are in UTC. One of the same name is replaced." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); save.mutate(); }}>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Name" required pattern="[a-z0-9][a-z0-9_\-]*" title="Lower-case letters, digits, - and _" value={name} onChange={(event) => setName(event.target.value)} />
          <Choose label="Of" value={scope} onChange={(event) => setScope(event.target.value)} options={scopes} />
          <Choose label="For" value={per} onChange={(event) => setPer(event.target.value as Budget["per"])} options={[{ value: "day", label: "A day" }, { value: "month", label: "A month" }, { value: "forever", label: "All time" }]} />
          <Choose label="When it is used up" value={action} onChange={(event) => setAction(event.target.value as Budget["action"])} options={[{ value: "wait", label: "Work waits" }, { value: "warn", label: "Only tell me" }]} />
        </div>
        <div className="grid gap-4 sm:grid-cols-3">
          <TextField label="Tokens" type="number" min={1} value={tokens} onChange={(event) => setTokens(event.target.value)} />
          <TextField label="US dollars" type="number" min={0.01} step="any" value={usd} onChange={(event) => setUsd(event.target.value)} />
          <TextField label="Runs" type="number" min={1} value={runs} onChange={(event) => setRuns(event.target.value)} />
        </div>
        {save.error && <p role="alert" className="complaint">{save.error.message}</p>}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={!name || (!tokens && !usd && !runs)}>Set</Button></div>
      </form>
    </Dialog>
  );
}

const PER: Record<Budget["per"], string> = { day: "a day", month: "a month", forever: "in all" };

const numberIn = (text: string): number | null => (text === "" ? null : Number(text));

function usedOf({ spent, limits }: Budget): string {
  const parts: string[] = [];
  if (limits.tokens !== null) parts.push(`${compact(spent.tokens ?? 0)} of ${compact(limits.tokens)} tokens`);
  if (limits.usd !== null) parts.push(`$${(spent.usd ?? 0).toFixed(2)} of $${limits.usd.toFixed(2)}`);
  if (limits.runs !== null) parts.push(`${spent.runs ?? 0} of ${plural(limits.runs, "run")}`);
  return parts.join(", ");
}
