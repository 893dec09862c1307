// One MCP server: what it is, whether it works, what it offers, and a test of it.

import { Link } from "@tanstack/react-router";
import { useAction } from "../../data/action";
import { api, ask, type Shapes } from "../../data/api";
import { plural } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Peek } from "../../ui/peek";
import { type McpServer, stateOf, toolsOf, TRANSPORTS } from "./servers";

export function ServerPeek({ server, onClose }: { server: McpServer; onClose: () => void }) {
  const { name, kind, address, accounts, agents, offered, leftOut = [], lastError, since, starts } = server;
  return (
    <Peek title={name} onClose={onClose}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
          <dt>State</dt><dd>{stateOf(server)} <Age at={since} prefix="for " className="note" />{lastError && <span className="complaint block wrap-anywhere">{lastError}</span>}</dd>
          <dt>Reached</dt><dd>{TRANSPORTS[kind]}{address && <code className="block text-xs wrap-anywhere">{address}</code>}</dd>
          {accounts && <><dt>Accounts</dt><dd>{accounts.includes("*") ? "All" : accounts.join(", ")}</dd></>}
          <dt>Agents</dt><dd>{agents.length === 0 ? "None" : agents.map((agent) => <Link key={agent.id} to="/agents" search={{ peek: agent.id }} className="mr-2 inline-block underline">{agent.name}</Link>)}</dd>
          <dt>Started</dt><dd>{starts === 0 ? "Not yet: it is started when an agent first wants its tools" : plural(starts, "time")}</dd>
          <dt>Tools</dt><dd>{toolsOf(server)}</dd>
        </dl>
        <Trial name={name} />
        {offered.length > 0 && <Tools tools={offered} />}
        {leftOut.length > 0 && (
          <section aria-label="Left out">
            <h3 className="border-b border-rule pb-1 text-base">Left out</h3>
            <ul className="grid gap-1 py-2 text-sm">{leftOut.map((said) => <li key={said} className="wrap-anywhere">{said}</li>)}</ul>
          </section>
        )}
      </div>
    </Peek>
  );
}

function Trial({ name }: { name: string }) {
  const trial = useAction({
    act: () => ask(api.POST("/api/mcp/servers/{name}/test", { params: { path: { name } } })),
    failed: "The server was not tested",
    stale: () => [["mcp"], ["health"]],
  });
  const found = trial.data?.server;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button weight="main" busy={trial.isPending} onClick={() => trial.mutate()}>{trial.isPending ? "Testing…" : "Test"}</Button>
      <p role="status" className={`min-w-0 wrap-anywhere ${found?.status === "failed" ? "complaint" : "note"}`}>
        {trial.isPending ? "It is started if need be, and asked for its tools…" : found && (found.status === "failed" ? found.lastError : `It works and offers ${plural(found.offered.length, "tool")}.`)}
      </p>
    </div>
  );
}

function Tools({ tools }: { tools: Shapes["McpTool"][] }) {
  return (
    <section aria-label="Tools">
      <h3 className="border-b border-rule pb-1 text-base">Tools</h3>
      <p className="note pt-2">The server’s own words. Rules of agents name the tools as they are called here.</p>
      <ul className="grid gap-1.5 py-2">
        {tools.map((tool) => (
          <li key={tool.name} className="text-sm wrap-anywhere">
            <code>{tool.name}</code> <span className={tool.effect === "write" ? "font-semibold text-brass" : "text-soft"}>{tool.effect === "write" ? "writes" : "reads"}</span>{" "}
            <span className="text-soft">{tool.description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
