// Sessions: every lane of every agent, those that programs opened left out at first.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import type { Session } from "../../data/api";
import { agentsQuery } from "../../data/queries";
import { capital, kindOfKey, plural, stateOfSession, titleOfSession } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { SearchBox, Select, Switch } from "../../ui/choices";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { Menu } from "../../ui/menu";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { KINDS, type SessionsSearch, STATES } from "./address";
import { contextOf, kindOf, listQuery, useArchive } from "./data";
import { RenameDialog } from "./rename";

const KIND_WORDS: Record<string, string> = { chats: "Chats", tasks: "Tasks", main: "Main lanes", machine: "Machine-made" };

export function Sessions() {
  const search = useSearch({ from: "/sessions" });
  const navigate = useNavigate({ from: "/sessions" });
  const change = useCallback((part: Partial<SessionsSearch>) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }), [navigate]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [renamed, setRenamed] = useState<Session | null>(null);
  const query = useQuery(listQuery(search));
  const all = useMemo(() => query.data?.rows ?? [], [query.data]);
  const rows = useMemo(() => all.filter((row) => isShown(row, search)), [all, search]);
  const columns = useMemo(() => columnsFor(setRenamed), []);
  const hidden = all.length - all.filter((row) => kindOf(row.key) !== "machine").length;
  useShortcuts([{ keys: "e", does: "Rename the session", run: () => setRenamed(focusedRow(rows)) }]);
  const marked = rows.filter((row) => chosen.has(row.key));
  const open = (row: Session) => void navigate({ to: "/sessions/$key", params: { key: row.key } });
  return (
    <>
      <Title name="Sessions" />
      <Filters search={search} onChange={change} hidden={hidden} />
      <Loaded query={query} waiting={<SkeletonRows count={12} label="Loading sessions" />}>
        {({ more }) => (
          <>
            <div className="flex min-h-9 flex-wrap items-center gap-3 border-b border-rule py-1">
              {marked.length > 0 ? <Bulk sessions={marked} archived={search.archived === "1"} onDone={() => setChosen(new Set())} /> : <p role="status" className="note">{plural(rows.length, "session")}{more && ", the most recent; search for older ones"}</p>}
            </div>
            {rows.length > 0
              ? <Table name="Sessions" rows={rows} columns={columns} idOf={(row) => row.key} titleOf={titleOfSession} onOpen={open} chosen={chosen} onChoose={setChosen} />
              : <NoSessions isEmpty={all.length === 0 && Object.values(search).every((value) => value === undefined)} hidden={hidden} />}
          </>
        )}
      </Loaded>
      <RenameDialog session={renamed} onClose={() => setRenamed(null)} />
    </>
  );
}

function isShown(row: Session, { kind, machine, state }: SessionsSearch): boolean {
  const own = kindOf(row.key);
  if (kind !== undefined) return own === kind;
  // Whoever asks for busy ones wants to see whatever is at work.
  return own !== "machine" || machine === "1" || state === "busy";
}

/** Return the row that has the focus, or holds what has it. */
function focusedRow(rows: Session[]): Session | null {
  const name = document.activeElement?.closest("[data-row]")?.querySelector<HTMLElement>("[data-key]")?.dataset["key"];
  return rows.find((row) => row.key === name) ?? null;
}

function Filters({ search, onChange, hidden }: { search: SessionsSearch; onChange: (part: Partial<SessionsSearch>) => void; hidden: number }) {
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const kinds = [{ value: "", label: "Every kind" }, ...KINDS.map((value) => ({ value, label: KIND_WORDS[value] ?? value }))];
  const states = [{ value: "", label: "Every state" }, ...STATES.map((value) => ({ value, label: capital(value) }))];
  const slugs = [{ value: "", label: "Every agent" }, ...agents.map(({ id, name }) => ({ value: id, label: name || id }))];
  return (
    <div role="search" aria-label="Filter sessions" className="flex flex-wrap items-center gap-2 py-3">
      <SearchBox name="Find a session" value={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <Select name="Kind" value={search.kind ?? ""} options={kinds} onChange={(kind) => onChange({ kind: KINDS.find((each) => each === kind) })} />
      <Select name="State" value={search.state ?? ""} options={states} onChange={(state) => onChange({ state: STATES.find((each) => each === state) })} />
      <Select name="Agent" value={search.agent ?? ""} options={slugs} onChange={(agent) => onChange({ agent: agent || undefined })} />
      {search.kind === undefined && <Switch label={`Show machine-made${hidden > 0 ? ` (${hidden})` : ""}`} on={search.machine === "1"} onChange={(on) => onChange({ machine: on ? "1" : undefined })} />}
      <Switch label="Archived" on={search.archived === "1"} onChange={(on) => onChange({ archived: on ? "1" : undefined })} />
    </div>
  );
}

function Bulk({ sessions, archived, onDone }: { sessions: Session[]; archived: boolean; onDone: () => void }) {
  const archive = useArchive();
  const all = () => {
    for (const session of sessions) archive.mutate({ session, archived: !archived });
    onDone();
  };
  return (
    <>
      <p role="status" className="text-sm font-semibold">{plural(sessions.length, "session")} chosen</p>
      <Button small onClick={all}>{archived ? "Bring back" : "Archive"} {sessions.length}</Button>
      <Button small weight="plain" onClick={onDone}>Clear</Button>
    </>
  );
}

function NoSessions({ isEmpty, hidden }: { isEmpty: boolean; hidden: number }) {
  if (isEmpty) return <Empty title="No sessions yet."><p>A session is one conversation with one agent, apart from all others. It begins with the first message. <Link to="/chat" className="underline">Write one</Link></p></Empty>;
  return <Empty title="No session matches these filters.">{hidden > 0 && <p>{plural(hidden, "machine-made session")} not shown.</p>}<Link to="/sessions" className="underline">Show all sessions</Link></Empty>;
}

const columnsFor = (rename: (row: Session) => void): Column<Session>[] => [
  { name: "State", cell: (row) => <StateBadge state={stateOfSession(row)} />, className: "w-28 max-md:hidden" },
  { name: "Session", cell: (row) => <Name row={row} />, className: "max-w-0 w-full" },
  { name: "Kind", cell: (row) => kindOfKey(row.key), className: "whitespace-nowrap text-soft max-lg:hidden" },
  { name: "Agent", cell: (row) => <AgentName id={row.agentSlug} />, className: "whitespace-nowrap text-soft max-md:hidden" },
  { name: "Recall", cell: (row) => (row.recall === "space" ? "Board" : "Own"), className: "whitespace-nowrap text-soft max-xl:hidden" },
  { name: "Queue", cell: (row) => row.queuedRuns || "", className: "text-right text-soft max-lg:hidden" },
  { name: "Context", cell: (row) => <span title="Tokens of its last request">{contextOf(row)}</span>, className: "whitespace-nowrap text-right text-soft max-lg:hidden" },
  { name: "Used", cell: (row) => <Age at={row.updatedAt} className="whitespace-nowrap text-soft" />, className: "text-right" },
  { name: "Actions", bare: true, cell: (row) => <Actions row={row} onRename={() => rename(row)} />, className: "w-8 pr-0!" },
];

function Name({ row }: { row: Session }) {
  return (
    <div className="min-w-0" data-key={row.key}>
      <Link to="/sessions/$key" params={{ key: row.key }} className="block truncate no-underline hover:underline">{titleOfSession(row)}</Link>
      <p className="note flex min-w-0 items-center gap-2"><StateBadge state={stateOfSession(row)} className="md:hidden" /><code className="truncate">{row.key}</code></p>
    </div>
  );
}

function Actions({ row, onRename }: { row: Session; onRename: () => void }) {
  const archive = useArchive();
  const isArchived = row.archivedAt !== null;
  return (
    <Menu
      trigger={<Button weight="bare" small aria-label={`Actions of ${titleOfSession(row)}`}><Icon name="more" /></Button>}
      choices={[
        { label: "Rename", run: onRename },
        { label: isArchived ? "Bring back" : "Archive", run: () => archive.mutate({ session: row, archived: !isArchived }) },
        { label: "Copy key", run: () => void navigator.clipboard?.writeText(row.key) },
      ]}
    />
  );
}
