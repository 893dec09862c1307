// Creating and editing an agent. What is wrong is said while it is typed; what only the server knows is said where it belongs.

import { useState } from "react";
import { useAction } from "../../data/action";
import { type Agent, api, ask, Refusal, type Shapes } from "../../data/api";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Choose, TextArea, TextField } from "../../ui/form";
import { toast } from "../../ui/toast";
import { LimitFields, limitsBody, limitsOf, wrongLimits } from "./limits";
import { ServerChoice } from "./servers";

type Draft = {
  id: string; name: string; description: string; gateway: string; model: string; thinking: string; recall: string;
  allow: string; deny: string; ask: string; heartbeatMinutes: string; instructionsExtra: string;
};
type Complaints = Partial<Record<keyof Draft, string>>;

const ID_CHARS_MAX = 64;
const ID = /^[a-z0-9][a-z0-9_-]*$/;
const NAME_CHARS_MAX = 200;
const HEARTBEAT_MAX = 525_600;

const THINKING = ["off", "minimal", "low", "medium", "high"] as const;
const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

function draftOf(agent: Agent | undefined): Draft {
  const { allow = ["*"], deny = [], ask: asks = [] } = agent?.tools ?? {};
  return {
    id: agent?.slug ?? "", name: agent?.name ?? "", description: agent?.description ?? "", gateway: agent?.gateway ?? "", model: agent?.model ?? "",
    thinking: agent?.thinking ?? "", recall: agent?.recall ?? "", allow: allow.join(", "), deny: deny.join(", "), ask: asks.join(", "),
    heartbeatMinutes: String(agent?.heartbeatMinutes ?? 0), instructionsExtra: agent?.instructionsExtra ?? "",
  };
}

function complaintsOf(draft: Draft, others: Agent[]): Complaints {
  const found: Complaints = {};
  if (draft.id !== "" && !ID.test(draft.id)) found.id = "Lower-case letters, digits, - and _, beginning with a letter or digit.";
  else if (draft.id.length > ID_CHARS_MAX) found.id = `At most ${ID_CHARS_MAX} characters.`;
  else if (others.some(({ id, slug }) => id === draft.id || slug === draft.id)) found.id = "Another agent has this name.";
  if (draft.name.length > NAME_CHARS_MAX) found.name = `At most ${NAME_CHARS_MAX} characters.`;
  const minutes = Number(draft.heartbeatMinutes);
  if (draft.heartbeatMinutes.trim() === "" || Number.isNaN(minutes) || minutes < 0 || minutes > HEARTBEAT_MAX) found.heartbeatMinutes = "A number of minutes; 0 for none.";
  if (words(draft.allow).length === 0) found.allow = "Name at least one tool, or * for all.";
  return found;
}

function bodyOf(draft: Draft): Shapes["AgentPatch"] {
  return {
    name: draft.name.trim() || draft.id, description: draft.description, gateway: draft.gateway, model: draft.model.trim(),
    thinking: THINKING.find((each) => each === draft.thinking) ?? null, recall: draft.recall === "own" || draft.recall === "space" ? draft.recall : null,
    tools: { allow: words(draft.allow), deny: words(draft.deny), ask: words(draft.ask) },
    heartbeatMinutes: Number(draft.heartbeatMinutes), instructionsExtra: draft.instructionsExtra,
  };
}

type Props = { agent?: Agent; agents: Agent[]; gateways: Shapes["GatewayState"][]; onClose: () => void; onDone: (id: string) => void };

export function AgentForm({ agent, agents, gateways, onClose, onDone }: Props) {
  const [draft, setDraft] = useState(() => draftOf(agent));
  const [limits, setLimits] = useState(() => limitsOf(agent));
  const [servers, setServers] = useState(() => [...(agent?.mcp ?? [])]);
  const body = () => ({ ...bodyOf(draft), ...limitsBody(limits), mcp: servers });
  const save = useAction({
    act: () => agent === undefined
      ? ask(api.POST("/api/agents", { body: { id: draft.id, ...body() } }))
      : ask(api.PATCH("/api/agents/{id}", { params: { path: { id: agent.id } }, body: { ...body(), slug: draft.id } })),
    failed: "The agent was not saved",
    stale: () => [["agents"]],
    quiet: true,
    done: (answer) => {
      toast({ text: agent === undefined ? "The agent is ready." : "Saved. Its next run follows it." });
      onDone(answer.agent.id);
    },
  });
  const complaints = complaintsOf(draft, agents.filter((each) => each !== agent));
  // The server names the field it refuses, which for an object has a path.
  const refused = save.error instanceof Refusal ? save.error : null;
  const field = refused?.field?.split(".").pop();
  const placed = field !== undefined && (field in draft || field === "mcp");
  const about = (name: keyof Draft) => complaints[name] ?? (field === name ? refused?.message : undefined);
  const bind = (name: keyof Draft) => ({ value: draft[name], complaint: about(name), onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }) });
  const wrong = wrongLimits(limits, agents);
  const ready = draft.id !== "" && Object.keys(complaints).length === 0 && Object.keys(wrong).length === 0;
  return (
    <Dialog open wide title={agent ? `Edit ${agent.name}` : "New agent"} onClose={onClose}>
      <form className="grid gap-x-5 gap-y-4 sm:grid-cols-2" onSubmit={(event) => { event.preventDefault(); if (ready) save.mutate(); }}>
        <TextField label={agent ? "Short name" : "Id"} mono autoFocus={!agent} hint={agent ? "Addresses keep working with the former one." : "It cannot be changed later."} {...bind("id")} />
        <TextField label="Name" placeholder={draft.id} {...bind("name")} />
        <TextField label="What it does" className="sm:col-span-2" hint="Other agents read this when they look for help." {...bind("description")} />
        <Choose
          label="Gateway" {...bind("gateway")} hint="Where its model is reached."
          options={[{ value: "", label: "The default one" }, ...gateways.filter(({ kind }) => kind !== "").map(({ name, status }) => ({ value: name, label: status === "ok" ? name : `${name} (${status})` }))]}
        />
        <TextField label="Model" mono placeholder="the gateway's model" {...bind("model")} />
        <Choose label="Thinking" {...bind("thinking")} options={[{ value: "", label: "As the model does" }, ...THINKING.map((value) => ({ value, label: value }))]} />
        <Choose label="Recall" {...bind("recall")} hint="How far it may look back." options={[{ value: "", label: "As the account says" }, { value: "own", label: "Its own sessions" }, { value: "space", label: "Its space" }]} />
        <TextField label="Tools it may use" mono {...bind("allow")} hint="With commas between; * is all." />
        <TextField label="Tools it may not use" mono {...bind("deny")} />
        <TextField label="Tools a person must approve" mono {...bind("ask")} />
        <ServerChoice chosen={servers} complaint={field === "mcp" ? refused?.message : undefined} onChange={setServers} />
        <TextField label="Heartbeat, in minutes" inputMode="decimal" {...bind("heartbeatMinutes")} hint="How often it looks for work by itself." />
        <TextArea label="Own instructions" className="sm:col-span-2" rows={5} {...bind("instructionsExtra")} hint="Added to what every agent is told. See the whole under Prompt." />
        <h3 className="border-b border-rule pt-2 pb-1 text-base sm:col-span-2">What it may see and do</h3>
        <LimitFields limits={limits} wrong={wrong} onChange={setLimits} />
        {save.error && !placed && <p role="alert" className="complaint sm:col-span-2">{save.error.message}</p>}
        <div className="flex justify-end gap-2 sm:col-span-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" weight="main" busy={save.isPending} disabled={!ready}>{agent ? "Save" : "Create"}</Button>
        </div>
      </form>
    </Dialog>
  );
}
