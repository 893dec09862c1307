// One agent beside the list: who it is, what it may use, and exactly what it is told in each kind of run.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Agent, api, ask, type Shapes } from "../../data/api";
import { capital, plural, titleOfRun } from "../../data/words";
import { Age } from "../../ui/age";
import { Budgets } from "../../ui/budgets";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Ident } from "../../ui/ident";
import { Code, Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type AgentsSearch, type Profile, PROFILES, TABS } from "./address";
import { type Load, ModelOf, useEnabling } from "./agents";
import { FLAGS } from "./limits";

type Props = { agent: Agent; load: Load; gateway?: Shapes["GatewayState"]; search: AgentsSearch; set: (change: AgentsSearch) => void };

const PROFILE_NAMES: Record<Profile, string> = { chat: "Chat", task: "Task", subagent: "Sub-agent", heartbeat: "Heartbeat" };

const promptQuery = (agent: Agent, profile: Profile) => queryOptions({
  // An agent's settings change its prompt.
  queryKey: ["agent", agent.id, "prompt", profile, agent.updatedAt],
  queryFn: ({ signal }) => ask(api.GET("/api/agents/{id}/prompt", { params: { path: { id: agent.id }, query: { profile } }, signal })),
});

export function AgentPeek({ agent, load, gateway, search, set }: Props) {
  const [asking, setAsking] = useState(false);
  const enabling = useEnabling();
  const tab = search.tab ?? "about";
  return (
    <Peek
      title={agent.name} onClose={() => set({ peek: undefined, tab: undefined, profile: undefined })}
      actions={<>
        <Button small onClick={() => set({ edit: agent.id })}>Edit</Button>
        {agent.enabled
          ? <Button small weight="danger" onClick={() => setAsking(true)}>Disable</Button>
          : <Button small weight="main" onClick={() => enabling.mutate({ id: agent.id, enabled: true })}>Enable</Button>}
      </>}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <Options name="What to show" value={tab} onChange={(next) => set({ tab: TABS.find((each) => each === next) })} options={[{ value: "about", label: "About" }, { value: "tools", label: "Tools" }, { value: "prompt", label: "Prompt" }]} />
        {tab === "about" && <About agent={agent} load={load} gateway={gateway} />}
        {tab === "tools" && <Tools agent={agent} />}
        {tab === "prompt" && <Prompt agent={agent} profile={search.profile ?? "chat"} set={set} />}
      </div>
      <Dialog open={asking} title={`Disable ${agent.name}?`} about="Its sessions are closed and its waiting runs are cancelled. You can enable it again; what was said stays." onClose={() => setAsking(false)}>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>Leave it enabled</Button>
          <Button weight="danger" onClick={() => { setAsking(false); enabling.mutate({ id: agent.id, enabled: false }); }}>Disable</Button>
        </div>
      </Dialog>
    </Peek>
  );
}

function About({ agent, load, gateway }: { agent: Agent; load: Load; gateway?: Shapes["GatewayState"] }) {
  const { subagents, behaviorFlags } = agent;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {agent.description && <p>{agent.description}</p>}
      <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
        <dt>State</dt><dd><StateBadge state={agent.status} /></dd>
        <dt>Load</dt><dd>{plural(load.running.length, "run")} running, {load.queued} waiting</dd>
        <dt>Model</dt><dd><ModelOf agent={agent} gateway={gateway} />{gateway?.lastError && <span className="complaint block">{gateway.lastError}</span>}</dd>
        <dt>Thinking</dt><dd>{agent.thinking ? capital(agent.thinking) : "As the model does"}</dd>
        <dt>At once</dt><dd>{agent.concurrency === null ? "As the settings say" : agent.concurrency === 0 ? "Any number of runs" : `At most ${plural(agent.concurrency, "run")}`}</dd>
        <dt>Recall</dt><dd>{agent.recall === "space" ? "Its space" : agent.recall === "own" ? "Its own" : "As the account says"}</dd>
        <dt>Heartbeat</dt><dd>{agent.heartbeatMinutes > 0 ? `Every ${agent.heartbeatMinutes} min` : "None"}</dd>
        <dt>Spaces</dt><dd>{agent.spaceIds.includes("*") ? "Every space" : agent.spaceIds.join(", ")}</dd>
        <dt>Sub-agents</dt><dd>{subagents.allowAgents?.length ? `May start ${subagents.allowAgents.join(", ")}` : "Only of itself"}{subagents.maxChildren != null && `, at most ${subagents.maxChildren}`}</dd>
        <dt>May</dt><dd>{FLAGS.filter(([flag]) => behaviorFlags[flag] === true).map(([, words]) => words).join(", ") || "what the account allows"}</dd>
        {FLAGS.some(([flag]) => behaviorFlags[flag] === false) && <><dt>May not</dt><dd>{FLAGS.filter(([flag]) => behaviorFlags[flag] === false).map(([, words]) => words).join(", ")}</dd></>}
        <dt>Id</dt><dd><Ident text={agent.id} /></dd>
        {agent.aliases.length > 0 && <><dt>Formerly</dt><dd>{agent.aliases.join(", ")}</dd></>}
        <dt>Main lane</dt><dd><Link to="/chat/$" params={{ _splat: agent.sessionKey }} className="underline">Open the chat</Link></dd>
      </dl>
      {load.running.length > 0 && (
        <section aria-label="Running now">
          <h3 className="border-b border-rule pb-1 text-base">Running now</h3>
          <ul>{load.running.map((run) => (
            <li key={run.id} className="flex justify-between gap-3 border-b border-rule py-1.5 text-sm">
              <Link to="/chat/$" params={{ _splat: run.sessionKey }} className="min-w-0 truncate underline">{titleOfRun(run)}</Link><Age at={run.startedAt} className="note" />
            </li>
          ))}</ul>
        </section>
      )}
      <Budgets agents={[agent]} agent={agent} />
      {agent.instructionsExtra && <section aria-label="Own instructions"><h3 className="border-b border-rule pb-1 text-base">Own instructions</h3><Markdown text={agent.instructionsExtra} className="pt-2" /></section>}
    </div>
  );
}

function Tools({ agent }: { agent: Agent }) {
  const { allow = [], deny = [], ask: asks = [] } = agent.tools;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
        <dt>Allowed</dt><dd>{allow.includes("*") ? "Every tool" : allow.join(", ") || "None"}</dd>
        <dt>Denied</dt><dd>{deny.join(", ") || "None"}</dd>
        <dt>After approval</dt><dd>{asks.join(", ") || "None"}</dd>
        <dt>MCP servers</dt><dd>{agent.mcp.length === 0 ? "None" : agent.mcp.map((name) => <Link key={name} to="/mcp-servers" search={{ peek: name }} className="mr-2 inline-block underline">{name}</Link>)}</dd>
        <dt>Sandbox</dt><dd>{capital(agent.sandbox)}</dd>
        <dt>Sees sessions</dt><dd>{agent.visibility ? capital(agent.visibility) : "As the settings say"}</dd>
      </dl>
      {PROFILES.map((profile) => <Offered key={profile} agent={agent} profile={profile} />)}
    </div>
  );
}

function Offered({ agent, profile }: { agent: Agent; profile: Profile }) {
  const prompt = useQuery(promptQuery(agent, profile));
  return (
    <details className="border-b border-rule pb-1" open={profile === "chat"}>
      <summary className="cursor-pointer text-base">{PROFILE_NAMES[profile]} <span className="note">{prompt.data ? plural(prompt.data.tools.length, "tool") : ""}</span></summary>
      <Loaded query={prompt} waiting={<SkeletonRows count={2} />}>
        {({ tools }) => (
          <ul className="grid gap-1.5 py-2">
            {tools.map((tool) => <li key={tool.name} className="text-sm"><code>{tool.name}</code> <span className="text-soft">{tool.description}</span></li>)}
          </ul>
        )}
      </Loaded>
    </details>
  );
}

function Prompt({ agent, profile, set }: { agent: Agent; profile: Profile; set: (change: AgentsSearch) => void }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <p className="note">Exactly what every request of such a run begins with. What differs from run to run stands in brackets.</p>
      <Options name="Kind of run" value={profile} onChange={(next) => set({ profile: PROFILES.find((each) => each === next) })} options={PROFILES.map((value) => ({ value, label: PROFILE_NAMES[value] }))} />
      <Loaded query={useQuery(promptQuery(agent, profile))} waiting={<SkeletonRows />}>
        {(prompt) => (
          <>
            <div className="[&_pre]:wrap-anywhere [&_pre]:whitespace-pre-wrap"><Code>{prompt.instructions}</Code></div>
            <p className="note">{plural(prompt.instructions.length, "character")}, {plural(prompt.tools.length, "tool")}, version {prompt.version}</p>
            <Ident text={prompt.sha256} what="fingerprint" />
          </>
        )}
      </Loaded>
    </div>
  );
}
