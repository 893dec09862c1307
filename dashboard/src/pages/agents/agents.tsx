// Agents: who are they, what are they doing, and what are they told?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Agent, Run, Shapes } from "../../data/api";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { cache } from "../../data/cache";
import { agentsQuery, healthQuery, runsQuery } from "../../data/queries";
import { plural, titleOfRun } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { useOpened } from "../../ui/opened";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import type { AgentsSearch } from "./address";
import { AgentForm } from "./form";
import { AgentPeek } from "./agent";

export type Load = { running: Run[]; queued: number };

export function Agents() {
  const search = useSearch({ from: "/agents" });
  const navigate = useNavigate({ from: "/agents" });
  const set = (change: AgentsSearch, replace = false) => void navigate({ search: (before) => ({ ...before, ...change }), replace });
  const agents = useQuery(agentsQuery());
  useShortcuts([
    { keys: "n", does: "New agent", run: () => set({ new: "1" }) },
    { keys: "e", does: "Edit the open agent", run: () => search.peek && set({ edit: search.peek }) },
  ]);
  return (
    <>
      <Title name="Agents" actions={<Button weight="main" onClick={() => set({ new: "1" })}><Icon name="plus" className="size-4" />New agent</Button>} />
      <div className="py-3"><Loaded query={agents} waiting={<SkeletonRows />}>{(data) => <List agents={data.agents} search={search} set={set} />}</Loaded></div>
    </>
  );
}

function useLoads(): (agent: Agent) => Load {
  const running = useQuery(runsQuery({ state: "running" }, 1));
  const queued = useQuery(runsQuery({ state: "queued" }, 1));
  return ({ id }) => ({
    running: (running.data?.rows ?? []).filter((run) => run.agentId === id),
    queued: (queued.data?.rows ?? []).filter((run) => run.agentId === id).length,
  });
}

/** Return the gateway that an agent's runs go to: the one it names, else the default one, else the built-in agent. */
export function gatewayOf(agent: Agent, gateways: Shapes["GatewayState"][]): Shapes["GatewayState"] | undefined {
  const name = agent.gateway || (gateways.some((each) => each.name === "default") ? "default" : "builtin");
  return gateways.find((each) => each.name === name);
}

/** Enable or disable an agent, at once on the page. */
export function useEnabling() {
  return useAction({
    act: ({ id, enabled }: { id: string; enabled: boolean }) => enabled
      ? ask(api.PATCH("/api/agents/{id}", { params: { path: { id } }, body: { enabled } }))
      : ask(api.DELETE("/api/agents/{id}", { params: { path: { id } } })),
    failed: "The agent was not changed",
    optimistic: {
      keys: () => [["agents"]],
      change: ({ id, enabled }) => cache.setQueryData<{ agents: Agent[]; nextCursor: null }>(["agents"], (page) => page && {
        ...page, agents: page.agents.map((each) => (each.id === id ? { ...each, enabled, status: enabled ? "idle" : "disabled" } : each)),
      }),
    },
  });
}

function List({ agents, search, set }: { agents: Agent[]; search: AgentsSearch; set: (change: AgentsSearch, replace?: boolean) => void }) {
  const gateways = useQuery(healthQuery()).data?.gateways ?? [];
  const loadOf = useLoads();
  const open = useOpened(agents, ({ id, slug }, wanted) => wanted === id || wanted === slug, { wanted: search.peek, queryKey: ["agents"], gone: "There is no such agent any more.", forget: () => set({ peek: undefined, tab: undefined, profile: undefined }, true) });
  const edited = agents.find(({ id }) => id === search.edit);
  const columns: Column<Agent>[] = [
    {
      name: "Agent",
      cell: (agent) => (
        <div className="min-w-0 py-0.5">
          <span className={`font-medium ${agent.enabled ? "" : "text-soft"}`}>{agent.name}</span> <code className="text-xs text-soft">{agent.slug}</code>
          {agent.description && <span className="block text-sm text-soft">{agent.description}</span>}
          <span className="block sm:hidden"><StateBadge state={agent.status} /></span>
        </div>
      ),
    },
    { name: "State", className: "w-28 max-sm:hidden", cell: (agent) => <StateBadge state={agent.status} /> },
    { name: "Now", className: "w-[26%] text-sm max-md:hidden", cell: (agent) => <Now load={loadOf(agent)} /> },
    { name: "Model", className: "w-44 text-sm max-sm:hidden", cell: (agent) => <ModelOf agent={agent} gateway={gatewayOf(agent, gateways)} /> },
    { name: "Last given context", className: "w-36 text-right text-sm text-soft max-lg:hidden", cell: ({ lastContextInjectedAt }) => lastContextInjectedAt ? <Age at={lastContextInjectedAt} ago /> : "never" },
  ];
  return (
    <>
      {agents.length === 0 ? <Empty title="There are no agents yet."><Button weight="main" onClick={() => set({ new: "1" })}>New agent</Button></Empty> : (
        <Table name="Agents" rows={agents} columns={columns} idOf={({ id }) => id} titleOf={({ name }) => name} openId={open?.id} onOpen={({ id }) => set({ peek: id })} />
      )}
      {open && <AgentPeek key={open.id} agent={open} load={loadOf(open)} gateway={gatewayOf(open, gateways)} search={search} set={set} />}
      {(search.new || edited) && <AgentForm key={edited?.id ?? ""} agent={edited} agents={agents} gateways={gateways} onClose={() => set({ new: undefined, edit: undefined })} onDone={(id) => set({ new: undefined, edit: undefined, peek: id })} />}
    </>
  );
}

function Now({ load: { running, queued } }: { load: Load }) {
  const first = running[0];
  if (first === undefined) return <span className="text-soft">{queued > 0 ? `${plural(queued, "run")} waiting` : "–"}</span>;
  const more = [running.length > 1 && `${running.length - 1} more running`, queued > 0 && `${queued} waiting`].filter(Boolean).join(", ");
  return <>{titleOfRun(first)} <Age at={first.startedAt} className="note whitespace-nowrap" />{more && <span className="note block">{more}</span>}</>;
}

export function ModelOf({ agent, gateway }: { agent: Agent; gateway?: Shapes["GatewayState"] }) {
  const name = agent.model || (gateway?.kind === "builtin" ? "No model" : "The gateway's model");
  return (
    <>
      <span className="block truncate">{name}</span>
      {gateway ? <StateBadge state={gateway.status} label={gateway.kind === "builtin" ? "built in" : gateway.name} /> : <StateBadge state="failed" label={agent.gateway || "no gateway"} />}
    </>
  );
}
