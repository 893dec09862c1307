// Making a token. Its secret is shown once, here, and kept nowhere in the browser.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../data/action";
import { type Agent, api, ask, type Shapes } from "../../data/api";
import { spacesQuery } from "../../data/places";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Check, Choose, TextField } from "../../ui/form";
import { Copy } from "../../ui/ident";
import { KINDS, type Kind } from "./address";
import type { Person } from "./tokens";

const MEANING: Record<Kind, string> = {
  owner: "Owner: may do everything in this account", user: "Person: signs in as somebody", agent: "Agent: a program that is an agent", client: "Client: a program that talks to some agents",
};

export function NewToken({ people, agents, onClose }: { people: Person[]; agents: Agent[]; onClose: () => void }) {
  const [made, setMade] = useState<Shapes["NewTokenAnswer"] | null>(null);
  return (
    <Dialog open title={made ? `Token ${made.token.name}` : "New token"} about={made ? "Copy it now: it is not shown again." : undefined} onClose={onClose}>
      {made ? <Secret secret={made.secret} onClose={onClose} /> : <Form people={people} agents={agents} onClose={onClose} onMade={setMade} />}
    </Dialog>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <div className="grid gap-4">
      <code aria-label="Secret" className="rounded-md border border-brass-edge bg-brass-wash px-3 py-2 text-[0.8125rem] wrap-anywhere text-brass select-all">{secret}</code>
      <div className="flex justify-end gap-2"><Copy text={secret} name="Copy the token" label="Copy" /><Button weight="main" onClick={onClose}>I have it</Button></div>
    </div>
  );
}

type Props = { people: Person[]; agents: Agent[]; onClose: () => void; onMade: (made: Shapes["NewTokenAnswer"]) => void };

function Form({ people, agents, onClose, onMade }: Props) {
  const spaces = useQuery(spacesQuery()).data?.rows ?? [];
  const [kind, setKind] = useState<Kind>("user");
  const [name, setName] = useState("");
  const [person, setPerson] = useState("");
  const [agent, setAgent] = useState("");
  const [some, setSome] = useState<ReadonlySet<string>>(new Set());
  const [space, setSpace] = useState("");
  const [until, setUntil] = useState("");
  const make = useAction({
    act: () => ask(api.POST("/api/tokens", {
      body: {
        kind, name: name.trim(), userId: kind === "user" ? person : null, agentId: kind === "agent" ? agent : null, agentIds: kind === "client" ? [...some] : [],
        spaceIds: space ? [space] : null, expiresAt: until ? new Date(`${until}T23:59:59`).toISOString() : null,
      },
    })),
    failed: "The token was not made",
    stale: () => [["tokens"]],
    quiet: true,
    done: onMade,
  });
  const whom = { owner: true, user: person !== "", agent: agent !== "", client: some.size > 0 }[kind];
  const ready = name.trim() !== "" && whom;
  const toggle = (id: string) => {
    const next = new Set(some);
    if (!next.delete(id)) next.add(id);
    setSome(next);
  };
  return (
    <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (ready) make.mutate(); }}>
      <TextField label="Name" autoFocus placeholder="Ann's laptop" value={name} onChange={(event) => setName(event.target.value)} hint="So that you know later what it is for." />
      <Choose label="Kind" value={kind} onChange={(event) => setKind(KINDS.find((each) => each === event.target.value) ?? "user")} options={KINDS.map((value) => ({ value, label: MEANING[value] }))} />
      {kind === "user" && <Choose label="Person" value={person} onChange={(event) => setPerson(event.target.value)} hint={people.length === 0 ? "Make the person first." : undefined} options={[{ value: "", label: "Choose a person" }, ...people.map(({ id, name: label }) => ({ value: id, label }))]} />}
      {kind === "agent" && <Choose label="Agent" value={agent} onChange={(event) => setAgent(event.target.value)} options={[{ value: "", label: "Choose an agent" }, ...agents.map(({ id, name: label }) => ({ value: id, label }))]} />}
      {kind === "client" && <fieldset className="grid gap-1"><legend className="pb-1 text-[0.8125rem] font-medium">Agents it may talk to</legend>{agents.map(({ id, name: label }) => <Check key={id} label={label} checked={some.has(id)} onChange={() => toggle(id)} />)}</fieldset>}
      <div className="grid gap-4 sm:grid-cols-2">
        <Choose label="Space" value={space} onChange={(event) => setSpace(event.target.value)} options={[{ value: "", label: "Every space" }, ...spaces.map(({ id, name: label }) => ({ value: id, label: `Only ${label}` }))]} />
        <TextField label="Valid until" type="date" hint="Left empty: until it is revoked." value={until} onChange={(event) => setUntil(event.target.value)} />
      </div>
      {make.error && <p role="alert" className="complaint">{make.error.message}</p>}
      <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={make.isPending} disabled={!ready}>Create</Button></div>
    </form>
  );
}
