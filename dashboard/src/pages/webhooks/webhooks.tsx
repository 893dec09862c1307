// Webhooks: what do other programs send us, and what becomes of it?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { currentIdentity } from "../../data/identity";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Ident } from "../../ui/ident";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Choose, Options } from "../../ui/form";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { OUTCOMES, type WebhooksSearch } from "./address";
import { DeliveryPeek, Made, Outcome } from "./delivery";
import { deliveriesQuery, type Delivery, useRedelivery, type Webhook, webhooksQuery } from "./queries";

export function Webhooks() {
  const identity = currentIdentity();
  const isOwner = identity.stage === "in" && identity.me.actor.kind === "owner";
  return (
    <>
      <Title name="Webhooks" />
      {isOwner ? <Everything /> : <Empty title="Only owners see webhooks."><p>Sign in with an owner's token to see what other programs send.</p></Empty>}
    </>
  );
}

function Everything() {
  const search = useSearch({ from: "/webhooks" });
  const navigate = useNavigate({ from: "/webhooks" });
  const set = (change: WebhooksSearch) => void navigate({ search: (before) => ({ ...before, ...change }) });
  return (
    <Loaded query={useQuery(webhooksQuery)} waiting={<SkeletonRows count={4} />}>
      {({ webhooks }) => webhooks.length === 0 ? <None /> : (
        <>
          <section aria-label="Addresses" className="py-4"><Table name="Webhooks" rows={webhooks} columns={WEBHOOKS} idOf={({ name }) => name} titleOf={({ name }) => name} /></section>
          <Deliveries names={webhooks.map(({ name }) => name)} search={search} set={set} />
        </>
      )}
    </Loaded>
  );
}

function None() {
  return (
    <Empty title="No webhooks yet.">
      <p>With a webhook, GitHub, Linear, Slack or any program that signs JSON sends messages to an agent or makes tasks. A few lines of the settings file make one:</p>
      <pre tabIndex={0} className="code w-full text-ink">{'[webhooks.github]\nkind = "github"\nsecret_env = "GITHUB_WEBHOOK_SECRET"\naction = "task"'}</pre>
    </Empty>
  );
}

const KINDS: Record<Webhook["kind"], string> = { github: "GitHub", linear: "Linear", slack: "Slack", json: "JSON" };

const WEBHOOKS: Column<Webhook>[] = [
  {
    name: "Webhook",
    className: "max-w-0 w-full",
    cell: (row) => (
      <div className="grid min-w-0 gap-0.5 py-0.5">
        <span className="truncate">{row.name} <span className="text-sm text-soft">{KINDS[row.kind]}: becomes {row.target}</span></span>
        <Ident text={row.address} what={`the address of ${row.name}`} />
        {row.refused > 0 && <span className="complaint text-sm">{row.refused} refused since the server was started; the last one <Age at={row.refusedAt} ago />: {row.refusedReason}.</span>}
      </div>
    ),
  },
  { name: "Done", className: "text-right tabular-nums max-sm:hidden", cell: ({ done }) => done },
  { name: "Ignored", className: "text-right tabular-nums max-sm:hidden", cell: ({ ignored }) => ignored },
  { name: "Failed", className: "text-right tabular-nums", cell: ({ failed }) => failed },
  { name: "Last", className: "w-24 text-right text-sm text-soft whitespace-nowrap", cell: ({ lastReceivedAt }) => lastReceivedAt ? <Age at={lastReceivedAt} ago /> : "never" },
];

function Deliveries({ names, search, set }: { names: string[]; search: WebhooksSearch; set: (change: WebhooksSearch) => void }) {
  const redelivery = useRedelivery();
  const columns: Column<Delivery>[] = [
    { name: "Outcome", className: "w-28", cell: ({ outcome }) => <Outcome of={outcome} /> },
    {
      name: "Delivery",
      className: "max-w-0 w-full",
      cell: (row) => (
        <div className="min-w-0 py-0.5">
          <span className="block truncate">{row.title}</span>
          <span className="note block truncate">{row.webhook} · {row.event}{row.author && `, by ${row.author}`}</span>
          {row.reason && <span className="note block">{row.reason}</span>}
        </div>
      ),
    },
    { name: "Made", className: "text-sm whitespace-nowrap max-sm:hidden", cell: (row) => <Made delivery={row} /> },
    { name: "When", className: "w-20 text-right text-sm text-soft whitespace-nowrap max-sm:hidden", cell: ({ receivedAt }) => <Age at={receivedAt} ago /> },
    { name: "Actions", bare: true, className: "text-right whitespace-nowrap max-sm:hidden", cell: (row) => row.canRepeat && <Button small busy={redelivery.isPending && redelivery.variables === row.id} aria-label={`Redeliver: ${row.title}`} onClick={() => redelivery.mutate(row.id)}>Redeliver</Button> },
  ];
  return (
    <section aria-label="Deliveries" className="py-4">
      <div className="flex flex-wrap items-center justify-between gap-3 pb-2">
        <h2 className="text-xl">Last deliveries</h2>
        <div className="flex flex-wrap gap-2">
          <Choose label="Webhook" bare className="w-40" value={search.webhook ?? ""} onChange={(event) => set({ webhook: event.target.value || undefined })} options={[{ value: "", label: "Every webhook" }, ...names.map((value) => ({ value, label: value }))]} />
          <Options name="Outcome" value={search.outcome ?? ""} onChange={(next) => set({ outcome: OUTCOMES.find((each) => each === next) })} options={[{ value: "", label: "All" }, ...OUTCOMES.map((value) => ({ value, label: capital(value) }))]} />
        </div>
      </div>
      <Loaded query={useQuery(deliveriesQuery(search))} waiting={<SkeletonRows />}>
        {({ rows }) => rows.length === 0
          ? <Empty title="Nothing was delivered."><p>Give the address above to the program, with the secret that the settings name.</p></Empty>
          : <Table name="Deliveries" rows={rows} columns={columns} idOf={({ id }) => id} titleOf={({ title }) => title} openId={search.peek} onOpen={({ id }) => set({ peek: id })} />}
      </Loaded>
      {search.peek && <DeliveryPeek key={search.peek} id={search.peek} onClose={() => set({ peek: undefined })} />}
    </section>
  );
}
