// Connecting a model: name a server, see what it speaks and which models it has, choose one, and let it answer once.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, Refusal, type Shapes } from "../../data/api";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Choose, TextField } from "../../ui/form";
import { toast } from "../../ui/toast";
import { KINDS } from "./models";

type Found = Shapes["Found"];

const serversQuery = queryOptions({
  queryKey: ["settings", "servers"],
  queryFn: ({ signal }) => ask(api.GET("/api/models/servers", { signal })),
});

const FORM_OF_NAMES = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** `onDone` is given the name of the gateway that was connected. */
export function ConnectDialog({ taken, onDone, onClose }: { taken: string[]; onDone: (gateway: string) => void; onClose: () => void }) {
  const [server, setServer] = useState("");
  const [key, setKey] = useState("");
  const probe = useAction({
    act: () => ask(api.POST("/api/models/probe", { body: { server: server.trim(), key: key.trim() } })),
    failed: "The server was not asked",
    quiet: true,
  });
  const found = probe.data && probe.data.problem === null ? probe.data : null;
  // What was found is about the address that was asked, not about the one being typed.
  const change = (set: (value: string) => void) => (value: string) => {
    set(value);
    probe.reset();
  };
  return (
    <Dialog open wide title="Connect a model" about="The server is asked what it speaks and which models it has. Nothing is changed until you connect it." onClose={onClose}>
      <div className="grid gap-5">
        <Address {...{ server, probed: probe.data, busy: probe.isPending }} complaint={complaintOf(probe.error, probe.data)} keyText={key} onServer={change(setServer)} onKey={change(setKey)} onAsk={() => probe.mutate()} />
        {found && <ModelForm key={`${found.baseUrl} ${key}`} {...{ found, server, taken, onDone }} keyText={key.trim()} />}
      </div>
    </Dialog>
  );
}

function complaintOf(error: Error | null, found: Found | undefined): string | null {
  if (error) return error instanceof Refusal && error.requestId ? `${error.message} (request ${error.requestId})` : error.message;
  return found?.problem ?? null;
}

type AddressProps = {
  server: string; keyText: string; probed: Found | undefined; busy: boolean; complaint: string | null;
  onServer: (value: string) => void; onKey: (value: string) => void; onAsk: () => void;
};

function Address({ server, keyText, probed, busy, complaint, onServer, onKey, onAsk }: AddressProps) {
  const servers = useQuery(serversQuery).data?.servers ?? [];
  const known = servers.find(({ name }) => name === server);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (server.trim() !== "") onAsk();
  };
  const hint = known?.hasKey ? `Empty takes the one in ${known.keyEnv}.` : "Only if it needs one. It is kept on the server, in a file that only the server reads, and is never shown.";
  return (
    <form onSubmit={submit} className="grid gap-3">
      <div role="group" aria-label="Known servers" className="flex flex-wrap gap-1.5">
        {servers.map(({ name }) => <Button key={name} small aria-pressed={server === name} className="aria-pressed:border-green aria-pressed:bg-green-wash" onClick={() => onServer(name)}>{name}</Button>)}
      </div>
      <div className="grid items-start gap-3 sm:grid-cols-2">
        <TextField label="Server" mono autoFocus autoComplete="off" placeholder="ollama, or https://models.example.org" value={server} onChange={(event) => onServer(event.target.value)} hint={known ? known.baseUrl : undefined} />
        {/* Hidden by style: a password field would be offered to the browser's password store. */}
        <TextField label="Key" mono autoComplete="off" className="[&_input]:[-webkit-text-security:disc]" value={keyText} onChange={(event) => onKey(event.target.value)} hint={hint} />
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" weight={probed && probed.problem === null ? "quiet" : "main"} busy={busy}>{busy ? "Asking…" : "Ask it"}</Button>
        <p role="status" className="note min-w-0 wrap-anywhere">{busy ? "Asking what it speaks and which models it has…" : probed && probed.problem === null ? spoken(probed) : ""}</p>
      </div>
      {complaint && <p role="alert" className="complaint wrap-anywhere">{complaint}</p>}
    </form>
  );
}

const spoken = ({ baseUrl, kinds, models }: Found): string =>
  `${baseUrl} speaks ${kinds.map((kind) => KINDS[kind] ?? kind).join(", ")}; it lists ${plural(models.length, "model")}.`;

function ModelForm({ found, server, keyText, taken, onDone }: { found: Found; server: string; keyText: string; taken: string[]; onDone: (gateway: string) => void }) {
  const [model, setModel] = useState(found.models.length === 1 ? (found.models[0] ?? "") : "");
  const [kind, setKind] = useState(found.kind ?? "");
  const [gateway, setGateway] = useState("default");
  const connect = useAction({
    act: () => ask(api.POST("/api/models/connect", { body: { server: server.trim(), key: keyText, model: model.trim(), kind, gateway } })),
    failed: "The model was not connected",
    stale: () => [["settings"], ["health"], ["agents"]],
    done: () => {
      toast({ text: `Connected as ${gateway}.` });
      onDone(gateway);
    },
  });
  const wrongName = FORM_OF_NAMES.test(gateway) ? null : "Lower-case letters, digits, - and _.";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (model.trim() !== "" && wrongName === null) connect.mutate();
  };
  return (
    <form onSubmit={submit} aria-label="What to use" className="grid gap-3 border-t border-rule pt-4">
      <div className="grid items-start gap-3 sm:grid-cols-3">
        <TextField label="Model" mono list="models-found" autoComplete="off" required value={model} onChange={(event) => setModel(event.target.value)} hint={model !== "" && found.models.length > 0 && !found.models.includes(model) ? "The server does not list it." : undefined} />
        <datalist id="models-found">{found.models.map((name) => <option key={name} value={name} />)}</datalist>
        <Choose label="Speak to it in" value={kind} onChange={(event) => setKind(event.target.value)} options={found.kinds.map((value) => ({ value, label: KINDS[value] ?? value }))} />
        <TextField label="Name of the gateway" mono value={gateway} onChange={(event) => setGateway(event.target.value)} complaint={wrongName} hint={taken.includes(gateway) ? "It is there already and will be changed." : gateway === "default" ? "Every agent that names no other uses it." : undefined} />
      </div>
      <div className="flex justify-end"><Button type="submit" weight="main" busy={connect.isPending}>{connect.isPending ? "Connecting…" : "Connect"}</Button></div>
    </form>
  );
}
