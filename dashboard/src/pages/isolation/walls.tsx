// The walls of one session: what reaches it, what does not, what was refused, and the switch between private and the board.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Session, type Shapes } from "../../data/api";
import { cache } from "../../data/cache";
import { sessionQuery } from "../../data/queries";
import { nameOfKey, plural, splitKey, titleOfSession } from "../../data/words";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { Ident } from "../../ui/ident";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { toRules } from "./isolation";
import { Picture } from "./picture";
import { Crossing, CROSSING } from "./rules";

type Access = Shapes["SessionAccess"];

export const accessQuery = (key: string) => queryOptions({
  queryKey: ["session", key, "access"],
  queryFn: ({ signal }) => ask(api.GET("/api/sessions/{key}/access", { params: { path: { key } }, signal })),
});

export function SessionIsolation() {
  const { key } = useParams({ from: "/isolation/$key" });
  const session = useQuery(sessionQuery(key));
  return (
    <Loaded query={session} heading="Isolation" waiting={<SkeletonRows label="Loading the session" />}>
      {({ session: found }) => (
        <>
          <Title name="Isolation" subject={titleOfSession(found)} actions={<Link to="/sessions/$key" params={{ key: found.key }} className="button quiet">The session</Link>}>
            <div className="mt-1.5 flex min-w-0 flex-wrap items-center gap-x-3"><AgentName id={found.agentSlug} className="agent" /><Ident text={found.key} what="session key" /><a href={`#${CROSSING}`} onClick={toRules} className="text-sm underline">What crosses and what does not</a></div>
          </Title>
          <Loaded query={useQuery(accessQuery(found.key))} waiting={<SkeletonRows />}>{(access) => <Walls session={found} access={access} />}</Loaded>
          <Crossing />
        </>
      )}
    </Loaded>
  );
}

function Walls({ session, access }: { session: Session; access: Access }) {
  return (
    <>
      <RecallSwitch session={session} access={access} />
      <Picture session={session} access={access} />
      <Section name="What was refused" note={access.blocked.length === 0 ? undefined : plural(access.blocked.reduce((sum, each) => sum + each.count, 0), "call")}>
        {access.blocked.length === 0 ? <p className="note">No call of this session was refused.</p> : <Table name="What was refused" rows={access.blocked} columns={REFUSED} idOf={(row) => `${row.kind} ${row.rule}`} titleOf={(row) => row.kind} />}
      </Section>
      <Section name="Sessions its tools may read" note={plural(access.visibility.keys.length, "session")}>
        <ul className="grid gap-x-6 sm:grid-cols-2 xl:grid-cols-3">
          {access.visibility.keys.map((key) => <li key={key} className="min-w-0 border-b border-rule py-1"><Link to="/isolation/$key" params={{ key: key }} className="block truncate no-underline hover:underline">{key === session.key ? "This session" : `${nameOfKey(key)} of ${splitKey(key).agent}`}</Link></li>)}
        </ul>
      </Section>
    </>
  );
}

function Section({ name, note, children }: { name: string; note?: string; children: ReactNode }) {
  return <section aria-label={name} className="py-4"><h3 className="mb-1.5 flex items-baseline gap-3 text-xl">{name}<span className="note font-sans">{note}</span></h3>{children}</section>;
}

const REFUSED: Column<Shapes["BlockedCalls"]>[] = [
  { name: "Call", cell: (row) => <code>{row.kind}</code>, className: "whitespace-nowrap" },
  { name: "Why", cell: (row) => row.rule, className: "w-full" },
  { name: "Times", cell: (row) => row.count, className: "whitespace-nowrap text-right" },
  { name: "Last", cell: (row) => <Age at={row.lastAt} ago className="whitespace-nowrap text-soft" />, className: "whitespace-nowrap text-right max-sm:hidden" },
];

const CHOSEN_BY: Record<string, string> = { session: "Chosen for this session", agent: "As its agent is set", account: "As the account is set", settings: "As the server is set", board: "The session of a topic is on the board by nature" };

const CHOICES: { value: "own" | "space"; label: string; about: string }[] = [
  { value: "own", label: "Private", about: "Recalls itself alone. What is said here stays here." },
  { value: "space", label: "On the board", about: "What is said here is sorted into topics and recalled within its spaces, and it recalls what others say there." },
];

function RecallSwitch({ session, access }: { session: Session; access: Access }) {
  const { recall, chosenBy, onBoard } = access.recall;
  const set = useAction({
    act: (value: "own" | "space" | null) => ask(api.PATCH("/api/sessions/{key}", { params: { path: { key: session.key } }, body: { recall: value } })),
    failed: "The recall was not changed",
    optimistic: {
      keys: () => [["session", session.key]],
      change: (value) => value && cache.setQueryData<Access>(accessQuery(session.key).queryKey, (before) => before && { ...before, recall: { recall: value, chosenBy: "session", onBoard: value === "space" } }),
    },
    stale: () => [["sessions"]],
  });
  const isFixed = chosenBy === "board";
  return (
    <fieldset disabled={isFixed} className="grid gap-x-8 gap-y-2 border-b border-rule py-4 md:grid-cols-2">
      <legend className="sr-only">Recall</legend>
      {CHOICES.map(({ value, label, about }) => (
        <label key={value} className="grid cursor-pointer grid-cols-[auto_minmax(0,1fr)] gap-x-2.5">
          <input type="radio" name="recall" checked={recall === value} onChange={() => set.mutate(value)} className="mt-1 size-4 accent-green" />
          <span><span className="font-semibold">{label}</span><span className="block text-sm text-soft">{about}</span></span>
        </label>
      ))}
      <p className="note md:col-span-2">
        {CHOSEN_BY[chosenBy]}.{recall === "space" && !onBoard && " It recalls the board, but what is said in it is shared with nobody until its person puts this session on the board."}
        {chosenBy === "session" && <> <button type="button" className="underline" onClick={() => set.mutate(null)}>Decide as for its agent</button></>}
      </p>
    </fieldset>
  );
}
