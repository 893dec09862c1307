// Memory: what do agents know, and where does it hold?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { agentsQuery } from "../../data/queries";
import { capital, plural } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Choose } from "../../ui/form";
import { Highlight } from "../../ui/highlight";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { useOpened } from "../../ui/opened";
import { Seek } from "../../ui/seek";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { GLOBAL, type MemorySearch, TYPES } from "./address";
import { AddMemory } from "./add";
import { Fact } from "./fact";
import { type Item, memoryQuery, type Read } from "./queries";
import { Scopes, useScopeName } from "./scopes";

const SHOWN_CHARS = 200;

export function Memory() {
  const search = useSearch({ from: "/memory" });
  const navigate = useNavigate({ from: "/memory" });
  const set = useCallback(
    (change: MemorySearch, replace = "q" in change) => void navigate({ search: (before) => ({ ...before, peek: undefined, ...change }), replace }),
    [navigate],
  );
  const seek = useCallback((q: string) => set({ q: q.trim() === "" ? undefined : q }), [set]);
  const agents = useQuery(agentsQuery());
  const base = agents.data?.agents[0]?.sessionKey ?? "agent:main:main";
  const read = useQuery(memoryQuery(search, base));
  const scopeName = useScopeName();
  const here = search.session ? scopeName(search.session) : scopeName(search.scope ?? GLOBAL);
  useShortcuts([{ keys: "n", does: "Add a memory", run: () => set({ add: "1" }) }]);
  return (
    <>
      <Title name="Memory" actions={<Button weight="main" onClick={() => set({ add: "1" })}><Icon name="plus" className="size-4" />Add a memory</Button>}>
        <p className="note mt-1">What agents keep: for everyone, or for one session, goal or task alone.</p>
      </Title>
      <div className="grid gap-x-8 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <Scopes search={search} set={set} />
        <section aria-label={here} className="min-w-0 py-4">
          <div className="flex flex-wrap items-center gap-3 pb-3">
            <h2 className="w-full text-xl">{here}</h2>
            <div className="min-w-48 flex-1"><Seek name="Search this memory" value={search.q ?? ""} onSeek={seek} /></div>
            <Choose
              label="Type" bare className="w-40" value={search.type ?? ""} onChange={(event) => set({ type: TYPES.find((each) => each === event.target.value) })}
              options={[{ value: "", label: "Every type" }, ...TYPES.map((type) => ({ value: type, label: typeName(type) }))]}
            />
          </div>
          <Loaded query={read} waiting={<SkeletonRows />}>
            {(data) => <Facts read={data} search={search} set={set} nameOf={scopeName} stale={read.isPlaceholderData} />}
          </Loaded>
        </section>
      </div>
      {search.add && <AddMemory search={search} onClose={() => set({ add: undefined })} />}
    </>
  );
}

/** Whether a memory has a title that says more than how it begins. */
export const isTitled = ({ title, content }: Item): boolean => title !== "" && !content.startsWith(title);

export const typeName = (type: string): string => capital(type.replaceAll("_", " "));

const KEPT_FOR: Column<Item> = { name: "Kept for", className: "w-40 text-sm max-lg:hidden", cell: ({ scope }) => (scope === GLOBAL ? "Everyone" : capital(scope.split(":")[0] ?? "")) };

type Shown = { read: Read; search: MemorySearch; set: (change: MemorySearch, replace?: boolean) => void; nameOf: (scope: string) => string; stale: boolean };

function Facts({ read, search, set, nameOf, stale }: Shown) {
  const { items } = read;
  const q = search.q ?? "";
  const open = useOpened(items, ({ id }, wanted) => id === wanted, { wanted: search.peek, queryKey: ["memory"], gone: "That memory is not kept here any more.", forget: () => set({ peek: undefined }, true) });
  const columns: Column<Item>[] = [
    {
      name: "Memory",
      cell: (item) => (
        <div className="py-0.5">
          {isTitled(item) && <span className="font-medium"><Highlight text={item.title} query={q} /> · </span>}
          <span className={isTitled(item) ? "text-soft" : ""}><Highlight text={item.content} query={q} most={SHOWN_CHARS} /></span>
          {item.reason && <span className="note block">{item.reason} · score {item.score?.toFixed(2)}</span>}
          <span className="note block sm:hidden">{typeName(item.type)}</span>
        </div>
      ),
    },
    { name: "Type", className: "w-28 text-sm max-sm:hidden", cell: (item) => typeName(item.type) },
    ...(new Set(items.map(({ scope }) => scope)).size > 1 ? [KEPT_FOR] : []),
    { name: "Kept", className: "w-24 text-right text-sm text-soft", cell: (item) => <Age at={item.createdAt} ago /> },
  ];
  return (
    <div className={stale ? "opacity-60" : ""}>
      {items.length === 0 ? <Nothing search={search} add={() => set({ add: "1" })} /> : (
        <>
          <p className="note pb-1" role="status">{plural(items.length, "memory", "memories")}{read.more && ", the newest; search to find older ones"}</p>
          <Table name="Memories" rows={items} columns={columns} idOf={({ id }) => id} titleOf={(item) => item.title || item.content} onOpen={({ id }) => set({ peek: id })} openId={search.peek} />
        </>
      )}
      {open && <Fact key={open.id} item={open} nameOf={nameOf} onClose={() => set({ peek: undefined })} />}
    </div>
  );
}

function Nothing({ search, add }: { search: MemorySearch; add: () => void }) {
  if (search.q || search.type) return <Empty title="Nothing here matches."><p>Other words, every type, or another place may.</p></Empty>;
  const global = !search.session && (search.scope ?? GLOBAL) === GLOBAL;
  return (
    <Empty title={global ? "Nothing is kept for everyone yet." : "Nothing is kept here yet."}>
      <p>{global ? "Open a session's or task's memory and promote what every agent should know." : "Agents keep what they decide and learn; you can add something yourself."}</p>
      {!global && <Button onClick={add}>Add a memory</Button>}
    </Empty>
  );
}
