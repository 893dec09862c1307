// Models: where do agents think, does it answer, and which models are there?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Agent, Shapes } from "../../data/api";
import { agentsQuery, healthQuery } from "../../data/queries";
import { settingsQuery } from "../../data/standing";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Icon } from "../../ui/icon";
import { useOpened } from "../../ui/opened";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import type { ModelsSearch } from "./address";
import { ConnectDialog } from "./connect";
import { GatewayPeek } from "./gateway";

export type Gateway = Shapes["GatewayState"] & { settings: Record<string, unknown>; agents: Agent[] };

export const KINDS: Record<string, string> = { builtin: "Built in, without a model", responses: "Open Responses", chat: "Chat Completions", anthropic: "Anthropic Messages", openclaw: "OpenClaw", a2a: "A2A agent", acp: "Coding agent (ACP)" };

export function Models() {
  const search = useSearch({ from: "/models" });
  const navigate = useNavigate({ from: "/models" });
  const health = useQuery(healthQuery());
  // Only who may read the settings may change them.
  const settings = useQuery(settingsQuery);
  const set = (change: ModelsSearch, replace = false) => void navigate({ search: (before) => ({ ...before, ...change }), replace });
  return (
    <>
      <Title name="Models" actions={settings.isSuccess && <Button weight="main" onClick={() => set({ new: "1" })}><Icon name="plus" />Connect a model</Button>}>
        <p className="note mt-1">Gateways are where agents reach their models.</p>
      </Title>
      <Loaded query={health} waiting={<SkeletonRows count={3} />}>{(known) => <List states={known.gateways} search={search} set={set} />}</Loaded>
      {health.data?.gateways.every(({ kind }) => kind === "builtin") && (
        <Empty title="No model is connected.">
          <p>The built-in agent answers. {settings.isSuccess ? "Connect Ollama, LM Studio, llama.cpp, vLLM, a provider, or any server that speaks one of their dialects." : "The owner of the server can connect a model here."} The command <code>carrel connect</code> on the server’s machine does the same.</p>
        </Empty>
      )}
      {search.new && settings.isSuccess && (
        <ConnectDialog taken={health.data?.gateways.map(({ name }) => name) ?? []} onDone={(peek) => set({ new: undefined, peek, run: undefined })} onClose={() => set({ new: undefined })} />
      )}
    </>
  );
}

function List({ states, search, set }: { states: Shapes["GatewayState"][]; search: ModelsSearch; set: (change: ModelsSearch, replace?: boolean) => void }) {
  const settings = useQuery(settingsQuery).data?.settings ?? [];
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const hasDefault = states.some(({ name }) => name === "default");
  const rows: Gateway[] = states.map((state) => ({
    ...state,
    settings: Object.fromEntries(settings.filter(({ name }) => name.startsWith(`gateway.${state.name}.`)).map(({ name, value }) => [name.slice(`gateway.${state.name}.`.length), value])),
    agents: agents.filter(({ gateway }) => (gateway || (hasDefault ? "default" : "builtin")) === state.name),
  }));
  const open = useOpened(rows, ({ name }, wanted) => name === wanted, { wanted: search.peek, queryKey: ["health"], gone: "There is no such gateway any more.", forget: () => set({ peek: undefined, run: undefined }, true) });
  const columns: Column<Gateway>[] = [
    {
      name: "Gateway",
      cell: (row) => (
        <div className="py-0.5">
          <span className="font-medium">{row.name}</span> <span className="note">{KINDS[row.kind] ?? (row.kind || "not in the settings")}</span>
          {typeof row.settings["base_url"] === "string" && row.settings["base_url"] && <code className="block text-xs text-soft wrap-anywhere">{row.settings["base_url"]}</code>}
          {row.lastError && <span className="complaint block wrap-anywhere">{row.lastError}</span>}
        </div>
      ),
    },
    { name: "Model", className: "w-48 text-sm max-sm:hidden", cell: (row) => modelOf(row) },
    { name: "Agents", className: "w-56 text-sm max-md:hidden", cell: (row) => row.agents.map(({ name }) => name).join(", ") || "None" },
    { name: "State", className: "w-28 text-right", cell: (row) => <><StateBadge state={row.status} label={row.status === "ok" ? "OK" : undefined} /><Age at={row.since} prefix="for " className="note block" /></> },
  ];
  return (
    <div className="py-3">
      <Table name="Gateways" rows={rows} columns={columns} idOf={({ name }) => name} titleOf={({ name }) => name} openId={open?.name} onOpen={({ name }) => set({ peek: name, run: undefined })} />
      {open && <GatewayPeek key={open.name} gateway={open} run={search.run} onRun={(run) => set({ run })} onClose={() => set({ peek: undefined, run: undefined })} />}
    </div>
  );
}

export function modelOf({ settings, agents }: Gateway): string {
  const own = settings["model"];
  return typeof own === "string" && own ? own : ([...new Set(agents.map(({ model }) => model).filter(Boolean))].join(", ") || "–");
}
