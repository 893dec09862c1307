// MCP servers: which are there, do they work, and who uses them?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Agent, Shapes } from "../../data/api";
import { agentsQuery, mcpServersQuery } from "../../data/queries";
import { plural } from "../../data/words";
import { Age } from "../../ui/age";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { ServerPeek } from "./server";

export type McpServer = Shapes["McpServerShown"] & { agents: Agent[] };

export const TRANSPORTS: Record<McpServer["kind"], string> = { command: "Program", url: "Over HTTP" };

export function McpServers() {
  const search = useSearch({ from: "/mcp-servers" });
  const navigate = useNavigate({ from: "/mcp-servers" });
  return (
    <>
      <Title name="MCP servers"><p className="note mt-1">They bring tools for agents. Which agent uses which, its form says under Agents.</p></Title>
      <Loaded query={useQuery(mcpServersQuery())} waiting={<SkeletonRows count={3} />}>
        {({ servers }) => servers.length === 0 ? <None /> : <List servers={servers} peek={search.peek} onPeek={(peek) => void navigate({ search: { peek } })} />}
      </Loaded>
    </>
  );
}

function None() {
  return (
    <Empty title="No MCP server is open to this account.">
      <p>Whoever runs Carrel names servers in the settings, or with <code>carrel mcp servers add</code> on the server’s machine. Nothing else can start a program.</p>
    </Empty>
  );
}

export const stateOf = ({ status }: Shapes["McpServerState"]) => <StateBadge state={status} label={{ ok: "Works", idle: "Not started yet", starting: "Starting", failed: "Failed" }[status]} />;

/** Say how many tools there are, and how many of them may change something. */
export function toolsOf({ offered }: McpServer): string {
  if (offered.length === 0) return "–";
  const writing = offered.filter(({ effect }) => effect === "write").length;
  return `${plural(offered.length, "tool")}${writing > 0 ? `, ${writing} of which may write` : ""}`;
}

const COLUMNS: Column<McpServer>[] = [
  {
    name: "Server",
    cell: (row) => (
      <div className="py-0.5">
        <span className="font-medium">{row.name}</span> <span className="note">{TRANSPORTS[row.kind]}</span>
        {row.address && <code className="block text-xs text-soft wrap-anywhere">{row.address}</code>}
        {row.lastError && <span className="complaint block wrap-anywhere">{row.lastError}</span>}
      </div>
    ),
  },
  { name: "Tools", className: "w-52 text-sm max-sm:hidden", cell: toolsOf },
  { name: "Agents", className: "w-48 text-sm max-md:hidden", cell: ({ agents }) => agents.map(({ name }) => name).join(", ") || "None" },
  { name: "State", className: "w-36 text-right", cell: (row) => <>{stateOf(row)}<Age at={row.since} prefix="for " className="note block" /></> },
];

function List({ servers, peek, onPeek }: { servers: Shapes["McpServerShown"][]; peek?: string; onPeek: (name: string | undefined) => void }) {
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const rows: McpServer[] = servers.map((server) => ({ ...server, agents: agents.filter(({ mcp }) => mcp.includes(server.name)) }));
  const open = rows.find(({ name }) => name === peek);
  return (
    <div className="py-3">
      <Table name="MCP servers" rows={rows} columns={COLUMNS} idOf={({ name }) => name} titleOf={({ name }) => name} openId={open?.name} onOpen={({ name }) => onPeek(name)} />
      {open && <ServerPeek key={open.name} server={open} onClose={() => onPeek(undefined)} />}
    </div>
  );
}
