// The account: its name, who answers by default, and what every agent is told about it.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Shapes } from "../../data/api";
import { agentsQuery } from "../../data/queries";
import { accountQuery } from "../../data/standing";
import { Button } from "../../ui/button";
import { Loaded } from "../../ui/failure";
import { Choose, TextArea, TextField } from "../../ui/form";
import { Ident } from "../../ui/ident";
import { SkeletonRows } from "../../ui/skeleton";
import { toast } from "../../ui/toast";

type Account = Shapes["AccountShape"];

export function AccountSection() {
  return (
    <section aria-label="Account" className="border-b border-rule py-4">
      <Loaded query={useQuery(accountQuery)} waiting={<SkeletonRows count={3} />}>{({ account }) => <AccountForm key={JSON.stringify(account)} account={account} />}</Loaded>
    </section>
  );
}

function AccountForm({ account }: { account: Account }) {
  // The document describes the settings only where they are written.
  const settings = account.settings as Shapes["AccountSettings"];
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const [name, setName] = useState(account.name);
  const [first, setFirst] = useState(settings.defaultAgentId ?? "");
  const [recall, setRecall] = useState<string>(settings.recall ?? "");
  const [briefing, setBriefing] = useState(settings.briefing ?? "");
  const save = useAction({
    act: () => ask(api.PATCH("/api/account", {
      body: { name, settings: { defaultAgentId: first || null, recall: recall === "own" || recall === "space" ? recall : null, briefing: briefing || null } },
    })),
    failed: "The account was not changed",
    stale: () => [["account"]],
    quiet: true,
    done: () => toast({ text: "Saved." }),
  });
  const changed = name !== account.name || first !== (settings.defaultAgentId ?? "") || recall !== (settings.recall ?? "") || briefing !== (settings.briefing ?? "");
  return (
    <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (changed && name.trim()) save.mutate(); }}>
      <div className="flex flex-wrap items-baseline gap-x-3"><h2 className="text-xl">{account.name}</h2><span className="note">{account.slug}</span><Ident text={account.id} /></div>
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField label="Name of the account" value={name} onChange={(event) => setName(event.target.value)} complaint={name.trim() === "" ? "An account has a name." : save.error?.message} />
        <Choose
          label="Who answers when nobody is named" value={first} onChange={(event) => setFirst(event.target.value)}
          options={[{ value: "", label: "Nobody" }, ...agents.map((agent) => ({ value: agent.id, label: agent.name }))]}
        />
        <Choose
          label="What agents recall" value={recall} onChange={(event) => setRecall(event.target.value)}
          options={[{ value: "", label: "As the server is set" }, { value: "own", label: "Their own sessions" }, { value: "space", label: "The board, within their spaces" }]}
        />
      </div>
      <TextArea label="What every agent is told about this account" rows={2} value={briefing} onChange={(event) => setBriefing(event.target.value)} />
      {changed && (
        <div className="flex gap-2">
          <Button type="submit" weight="main" busy={save.isPending} disabled={!name.trim()}>Save</Button>
          <Button onClick={() => { setName(account.name); setFirst(settings.defaultAgentId ?? ""); setRecall(settings.recall ?? ""); setBriefing(settings.briefing ?? ""); }}>Undo</Button>
        </div>
      )}
    </form>
  );
}
