// Health: does everything work, and has it lately?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Shapes } from "../../data/api";
import { isOwner } from "../../data/identity";
import { agentsQuery, healthQuery } from "../../data/queries";
import { capital, plural } from "../../data/words";
import { Age } from "../../ui/age";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Figures } from "../../ui/figures";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { Duties } from "./duties";
import { Followers } from "./followers";
import { Lately } from "./lately";
import { Upkeep } from "./upkeep";

type Health = Shapes["Health"];
const MEGABYTE = 1_000_000;

type Part = keyof Shapes["Checks"];

const PARTS: Record<Part, [string, string]> = {
  storage: ["Database", "reads and writes"],
  migrations: ["Schema", "the tables are those of this version"],
  dispatcher: ["Dispatcher", "takes runs from the queue"],
  feed: ["Feed", "what happens reaches pages and programs"],
  gateway: ["Gateways", "models can be reached"],
  search: ["Search", "finds by words and meaning"],
};

export function HealthPage() {
  const search = useSearch({ from: "/health" });
  const navigate = useNavigate({ from: "/health" });
  return (
    <Loaded query={useQuery(healthQuery())} heading="Health" waiting={<SkeletonRows />}>
      {(health) => (
        <>
          <Title name="Health" actions={<Whole health={health} />} />
          {health.storageError && <p role="alert" className="complaint pt-3">Nothing can be written: {health.storageError}</p>}
          <Figures figures={figuresOf(health)} />
          <div className="grid gap-x-10 lg:grid-cols-2">
            <Part name="Parts"><Checks health={health} /></Part>
            <Part name="Gateways"><Gateways gateways={health.gateways} /></Part>
          </div>
          <Lately minutes={search.minutes ?? "1440"} onChange={(minutes) => void navigate({ search: { minutes } })} />
          <div className="grid gap-x-10 lg:grid-cols-2">
            <Part name="Search and filing"><Followers health={health} />{isOwner() && <Upkeep />}</Part>
            <Part name="Context reaches agents"><Injections rows={health.contextInjection} /></Part>
          </div>
          {health.duties && <Part name="Duties"><Duties duties={health.duties} /></Part>}
        </>
      )}
    </Loaded>
  );
}

function Whole({ health }: { health: Health }) {
  const troubled = Object.values(health.checks).filter((level) => level !== "ok").length;
  if (health.status === "not_ready") return <StateBadge state="failed" label="Not ready" />;
  return <StateBadge state={troubled > 0 ? "degraded" : "ok"} label={troubled > 0 ? `${plural(troubled, "part")} in trouble` : "Everything works"} />;
}

const figuresOf = ({ lanes, waiting }: Health) => [
  { name: "Runs at work", value: lanes.busy },
  { name: "Runs queued", value: lanes.queued },
  { name: "Waiting for a person", value: waiting.person },
  { name: "Waiting for a program", value: waiting.program },
  { name: "Stuck lanes", value: lanes.stuck, note: lanes.stuck > 0 ? "their worker was lost" : undefined },
];

function Part({ name, children }: { name: string; children: ReactNode }) {
  return <section aria-label={name} className="min-w-0 py-4"><h2 className="border-b border-rule pb-1 text-xl">{name}</h2>{children}</section>;
}

function Checks({ health: { checks, database } }: { health: Health }) {
  const words = database && `${database.engine === "sqlite" ? "SQLite" : "PostgreSQL"}, ${(database.sizeBytes / MEGABYTE).toFixed(1)} MB, schema ${database.schema}`;
  return (
    <ul>
      {(Object.keys(PARTS) as Part[]).map((part) => (
        <li key={part} className="flex items-baseline justify-between gap-4 border-b border-rule py-2">
          <span>{PARTS[part][0]} <span className="note">{part === "storage" && words ? words : PARTS[part][1]}</span></span><StateBadge state={checks[part]} label={checks[part] === "ok" ? "OK" : undefined} />
        </li>
      ))}
    </ul>
  );
}

const GATEWAYS: Column<Shapes["GatewayState"]>[] = [
  { name: "Gateway", cell: (row) => <div className="py-0.5">{row.name} <span className="note">{row.kind === "builtin" ? "no model" : row.kind || "not in the settings"}</span>{row.lastError && <span className="complaint block wrap-anywhere">{row.lastError}</span>}</div> },
  { name: "Waiting runs", className: "w-28 text-right text-sm tabular-nums max-sm:hidden", cell: (row) => row.waitingRuns ?? 0 },
  { name: "Since", className: "w-28 text-right text-sm", cell: (row) => <><StateBadge state={row.status} label={row.status === "ok" ? "OK" : undefined} /><Age at={row.since} className="note block" prefix="for " /></> },
];

function Gateways({ gateways }: { gateways: Shapes["GatewayState"][] }) {
  return <Table name="Gateways" rows={gateways} columns={GATEWAYS} idOf={({ name }) => name} titleOf={({ name }) => name} />;
}

function Injections({ rows }: { rows: Shapes["Injection"][] }) {
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  if (rows.length === 0) return <Empty title="There are no agents." />;
  const columns: Column<Shapes["Injection"]>[] = [
    { name: "Agent", cell: (row) => agents.find(({ id }) => id === row.agentId)?.name ?? capital(row.agentId) },
    { name: "Last given context", className: "w-40 text-right text-sm text-soft", cell: (row) => row.lastInjectedAt ? <Age at={row.lastInjectedAt} ago /> : "never" },
    { name: "Runs since without", className: "w-36 text-right text-sm tabular-nums", cell: (row) => row.runsSince },
  ];
  return <Table name="Context by agent" rows={rows} columns={columns} idOf={({ agentId }) => agentId} titleOf={({ agentId }) => agentId} />;
}
