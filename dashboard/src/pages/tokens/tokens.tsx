// People and tokens: who may come in, and how far?

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../data/action";
import { type Agent, api, ask, readAll, type Shapes } from "../../data/api";
import { cache } from "../../data/cache";
import { agentsQuery } from "../../data/queries";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Icon } from "../../ui/icon";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { KINDS, type TokensSearch } from "./address";
import { NewToken } from "./new-token";
import { PersonForm } from "./person";

type Token = Shapes["TokenShape"];
export type Person = Shapes["UserShape"];
type Tokens = { rows: Token[]; more: boolean };

const peopleQuery = queryOptions({ queryKey: ["people"], queryFn: ({ signal }) => ask(api.GET("/api/users", { signal })) });
const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => readAll((cursor) => ask(api.GET("/api/tokens", { params: { query: { cursor } }, signal })), (page) => page.tokens),
});

export function TokensPage() {
  const search = useSearch({ from: "/tokens" });
  const navigate = useNavigate({ from: "/tokens" });
  const set = (change: TokensSearch) => void navigate({ search: (before) => ({ ...before, ...change }) });
  const people = useQuery(peopleQuery);
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const known = people.data?.users ?? [];
  const edited = known.find(({ id }) => id === search.person);
  return (
    <>
      <Title name="Tokens" actions={<><Button onClick={() => set({ new: "person" })}>New person</Button><Button weight="main" onClick={() => set({ new: "token" })}><Icon name="plus" className="size-4" />New token</Button></>} />
      <section aria-label="People" className="py-4">
        <h2 className="text-xl">People</h2>
        <Loaded query={people} waiting={<SkeletonRows count={3} />}>{({ users }) => <People people={users} onOpen={(person) => set({ person })} />}</Loaded>
      </section>
      <section aria-label="Tokens" className="py-4">
        <div className="flex flex-wrap items-center justify-between gap-3 pb-2">
          <h2 className="text-xl">Tokens</h2>
          <Options name="Kind" value={search.kind ?? ""} onChange={(next) => set({ kind: KINDS.find((each) => each === next) })} options={[{ value: "", label: "All" }, ...KINDS.map((value) => ({ value, label: capital(value) }))]} />
        </div>
        <Loaded query={useQuery(tokensQuery)} waiting={<SkeletonRows count={4} />}>{({ rows }) => <List tokens={rows.filter(({ kind }) => search.kind === undefined || kind === search.kind)} people={known} agents={agents} />}</Loaded>
      </section>
      {search.new === "token" && <NewToken people={known} agents={agents} onClose={() => set({ new: undefined })} />}
      {(search.new === "person" || edited) && <PersonForm key={edited?.id ?? ""} person={edited} onClose={() => set({ new: undefined, person: undefined })} />}
    </>
  );
}

const PEOPLE: Column<Person>[] = [
  { name: "Name", cell: ({ name, slug }) => <>{name} <code className="text-xs text-soft">@{slug}</code></> },
  { name: "Mail", className: "text-sm text-soft max-sm:hidden", cell: ({ email }) => email ?? "–" },
  { name: "Role", className: "w-28 text-sm", cell: ({ role }) => capital(role) },
  { name: "Since", className: "w-28 text-right text-sm text-soft max-sm:hidden", cell: ({ createdAt }) => <Age at={createdAt} ago /> },
];

function People({ people, onOpen }: { people: Person[]; onOpen: (id: string) => void }) {
  if (people.length === 0) return <Empty title="There is nobody but you yet."><p>A person has chats, tasks and a mailbox of their own. Make one, then a token for them to sign in with.</p></Empty>;
  return <Table name="People" rows={people} columns={PEOPLE} idOf={({ id }) => id} titleOf={({ name }) => name} onOpen={({ id }) => onOpen(id)} />;
}

function List({ tokens, people, agents }: { tokens: Token[]; people: Person[]; agents: Agent[] }) {
  const [asking, setAsking] = useState<Token | null>(null);
  const revoke = useAction({
    act: (id: string) => ask(api.DELETE("/api/tokens/{id}", { params: { path: { id } } })),
    failed: "The token was not revoked",
    optimistic: { keys: () => [["tokens"]], change: (id) => cache.setQueryData<Tokens>(["tokens"], (page) => page && { ...page, rows: page.rows.filter((row) => row.id !== id) }) },
  });
  const agentName = (id: string) => agents.find((each) => each.id === id)?.name ?? id;
  const forWhom = (token: Token): string => {
    if (token.userId) return people.find(({ id }) => id === token.userId)?.name ?? token.userId;
    if (token.agentId) return agentName(token.agentId);
    return token.agentIds.length > 0 ? token.agentIds.map(agentName).join(", ") : "Everything";
  };
  const columns: Column<Token>[] = [
    { name: "Name", cell: (token) => <div className="py-0.5">{token.name}<span className="note block sm:hidden">{capital(token.kind)} · {forWhom(token)}</span></div> },
    { name: "Kind", className: "w-24 text-sm max-sm:hidden", cell: ({ kind }) => capital(kind) },
    { name: "For", className: "w-52 text-sm max-sm:hidden", cell: (token) => <>{forWhom(token)}{!token.spaceIds.includes("*") && <span className="note block">only {token.spaceIds.join(", ")}</span>}</> },
    { name: "Last used", className: "w-32 text-sm text-soft max-md:hidden", cell: ({ lastUsedAt }) => lastUsedAt ? <Age at={lastUsedAt} ago /> : "never" },
    { name: "Expires", className: "w-32 text-sm text-soft max-md:hidden", cell: ({ expiresAt }) => expiresAt ? new Date(expiresAt).toLocaleDateString() : "never" },
    { name: "Actions", bare: true, className: "w-24 text-right", cell: (token) => <Button small weight="danger" aria-label={`Revoke ${token.name}`} onClick={() => setAsking(token)}>Revoke</Button> },
  ];
  return (
    <>
      {tokens.length === 0 ? <Empty title="There is no such token." /> : <Table name="Tokens" rows={tokens} columns={columns} idOf={({ id }) => id} titleOf={({ name }) => name} />}
      <Dialog open={asking !== null} title={`Revoke ${asking?.name ?? ""}?`} about="Whoever uses it is shut out at once. It cannot be undone." onClose={() => setAsking(null)}>
        <div className="flex justify-end gap-2"><Button onClick={() => setAsking(null)}>Keep it</Button><Button weight="danger" onClick={() => { if (asking) revoke.mutate(asking.id); setAsking(null); }}>Revoke</Button></div>
      </Dialog>
    </>
  );
}
