// The chats at the side: by agent, with names one can change; a new one has its own address at once.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Session } from "../../data/api";
import { cache } from "../../data/cache";
import { agentsQuery, sessionsQuery } from "../../data/queries";
import { nameOfKey, splitKey, stateOfSession, titleOfSession } from "../../data/words";
import { Age } from "../../ui/age";
import { AgentName, useAgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { toast } from "../../ui/toast";
import { instanceId } from "./instance";

const FILTERED_FROM = 9;
const STATE_LOOKS: Record<string, string> = { busy: "text-green", waiting: "text-brass" };

/** The web chats of this person, newest first; `archived` shows those that were put away. */
const chatsQuery = (archived: boolean) => sessionsQuery({ channel: "web", archived, limit: 100 }, 2);

export function Rail({ current }: { current: string | null }) {
  const [open, setOpen] = useState(false);
  const [archived, setArchived] = useState(false);
  const [sought, setSought] = useState("");
  const [agent, setAgent] = useState("");
  const [renaming, setRenaming] = useState<Session | null>(null);
  const chats = useQuery(chatsQuery(archived));
  const agents = (useQuery(agentsQuery()).data?.agents ?? []).filter((each) => each.enabled);
  const fresh = useNewChat();
  const rows = (chats.data?.rows ?? []).filter((row) => Boolean(row.archivedAt) === archived);
  const shown = rows.filter((row) => `${titleOfSession(row)} ${row.agentSlug}`.toLowerCase().includes(sought.trim().toLowerCase()));
  const pinned = shown.filter((row) => row.pinned);
  const groups = Map.groupBy(shown.filter((row) => !row.pinned), (row) => row.agentSlug);
  const isListed = current === null || rows.some((row) => row.key === current);
  return (
    <aside aria-label="Chats" className="flex min-h-0 flex-col lg:pb-5">
      <div className="flex items-center justify-between gap-2 border-b border-rule py-2 lg:pt-0">
        <Button className="lg:hidden" aria-expanded={open} aria-controls="chats" onClick={() => setOpen(!open)}>Chats</Button>
        {agents.length > 1 ? (
          <select aria-label="New with" value={agent} onChange={(event) => setAgent(event.target.value)} className="field min-h-8! w-auto! min-w-0 flex-1 py-0! text-sm!">
            <option value="">Default agent</option>
            {agents.map((each) => <option key={each.id} value={each.id}>{each.name || each.id}</option>)}
          </select>
        ) : <span className="flex-1" />}
        <Button weight="main" small busy={fresh.isPending} onClick={() => fresh.mutate(agent || undefined)}>New</Button>
      </div>
      <div id="chats" className={`${open ? "flex" : "hidden"} min-h-0 flex-1 flex-col max-lg:max-h-[50dvh] max-lg:border-b max-lg:border-rule lg:flex`}>
        {(rows.length >= FILTERED_FROM || sought !== "") && (
          <input type="search" aria-label="Find a chat" placeholder="Find a chat" value={sought} onChange={(event) => setSought(event.target.value)} className="field mt-2 min-h-8! py-0!" />
        )}
        <div className="min-h-0 flex-1 overflow-y-auto px-0.5 py-1.5">
          {archived && <h2 className="note font-sans! px-2 pt-1">Archived chats</h2>}
          {!isListed && current !== null && <ul><Entry row={{ key: current, agentSlug: splitKey(current).agent }} isCurrent named /></ul>}
          {pinned.length > 0 && (
            <section aria-label="Pinned chats">
              <h3 className="note font-sans! mt-1 mb-1 flex items-center gap-1.5 px-2"><Icon name="pin" className="size-3.5" />Pinned</h3>
              <ul>{pinned.map((row) => <Entry key={row.key} row={row} isCurrent={row.key === current} named onRename={() => setRenaming(row)} />)}</ul>
            </section>
          )}
          {[...groups].map(([name, list]) => (
            <section key={name} aria-label={`Chats with ${name}`}>
              <h3 className="agent mt-2.5 mb-1 px-2"><AgentName id={name} /></h3>
              <ul>{list.map((row) => <Entry key={row.key} row={row} isCurrent={row.key === current} onRename={() => setRenaming(row)} />)}</ul>
            </section>
          ))}
          {chats.isSuccess && shown.length === 0 && <p className="note py-2">{sought ? "No chat has that name." : archived ? "Nothing is archived." : "No chats yet."}</p>}
          {chats.isError && <p role="alert" className="complaint">{chats.error.message}</p>}
        </div>
        <Button weight="plain" className="self-start" onClick={() => setArchived(!archived)}>{archived ? "Show current chats" : "Show archived"}</Button>
      </div>
      {renaming && <RenameDialog session={renaming} onClose={() => setRenaming(null)} />}
    </aside>
  );
}

type EntryRow = Pick<Session, "key" | "agentSlug"> & Partial<Session>;

/** `named` says whose chat it is, where no heading does. */
function Entry({ row, isCurrent, named = false, onRename }: { row: EntryRow; isCurrent: boolean; named?: boolean; onRename?: () => void }) {
  const state = row.state === undefined ? "" : stateOfSession({ state: row.state, waitingFor: row.waitingFor });
  const move = useArchive();
  const pin = usePin();
  const nameOf = useAgentName();
  // An idle chat needs no word: only what is going on is said.
  const below = [named && nameOf(row.agentSlug), state !== "idle" && state].filter(Boolean).join(" · ");
  return (
    <li className="group relative">
      <Link
        to="/chat/$" params={{ _splat: row.key }} aria-current={isCurrent ? "true" : undefined}
        className="grid rounded-r-md border-l-2 border-transparent py-1.5 pr-2 pl-2.5 pointer-coarse:pr-9 no-underline hover:bg-green-wash/60 aria-[current]:border-green aria-[current]:bg-green-wash"
      >
        <span className="flex min-w-0 items-baseline justify-between gap-2">
          <span className="truncate font-serif leading-snug">{row.state === undefined ? nameOfKey(row.key) : titleOfSession(row)}</span>
          {/* The menu takes its place while it is wanted. */}
          <span aria-hidden="true" className="min-w-6 shrink-0 text-right text-xs text-soft group-focus-within:opacity-0 group-hover:opacity-0 pointer-coarse:hidden"><Age at={row.updatedAt} /></span>
        </span>
        {below && <span className={`text-xs ${STATE_LOOKS[state] ?? "text-soft"}`}>{below}</span>}
      </Link>
      {onRename && (
        <div className="absolute top-1.5 right-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100 has-[[aria-expanded=true]]:opacity-100">
          <Menu
            trigger={<Button weight="bare" small aria-label={`More: ${titleOfSession(row)}`}><Icon name="more" /></Button>}
            choices={[
              row.pinned ? { label: "Unpin", run: () => pin.mutate({ key: row.key, pinned: false }) } : { label: "Pin", run: () => pin.mutate({ key: row.key, pinned: true }) },
              { label: "Rename", run: onRename },
              row.archivedAt ? { label: "Take out of the archive", run: () => move.mutate({ key: row.key, to: "unarchive" }) } : { label: "Archive", run: () => move.mutate({ key: row.key, to: "archive" }) },
            ]}
          />
        </div>
      )}
    </li>
  );
}

function usePin() {
  return useAction({
    act: ({ key, pinned }: { key: string; pinned: boolean }) => ask(api.PATCH("/api/sessions/{key}", { params: { path: { key } }, body: { pinned } })),
    failed: "The chat was not pinned",
    optimistic: {
      keys: () => [["sessions"]],
      change: ({ key, pinned }) => void cache.setQueriesData<{ rows: Session[] }>({ queryKey: ["sessions"] }, (page) => page?.rows && { ...page, rows: page.rows.map((row) => (row.key === key ? { ...row, pinned } : row)) }),
    },
  });
}

function useArchive() {
  const stale = () => [["sessions"]];
  const back = useAction({
    act: (key: string) => ask(api.POST("/api/sessions/{key}/unarchive", { params: { path: { key } } })),
    failed: "The chat stays archived",
    stale,
  });
  return useAction<{ key: string; to: "archive" | "unarchive" }>({
    act: ({ key, to }) => ask(to === "archive" ? api.POST("/api/sessions/{key}/archive", { params: { path: { key } } }) : api.POST("/api/sessions/{key}/unarchive", { params: { path: { key } } })),
    failed: "The chat was not moved",
    stale,
    done: (_answer, { key, to }) => {
      if (to === "archive") toast({ text: "Archived.", action: { label: "Undo", run: () => back.mutate(key) } });
    },
  });
}

/** Open a new chat with an agent, the default one without a name. */
export function useNewChat(replace = false) {
  const navigate = useNavigate();
  return useAction({
    act: (agentId: string | undefined) => ask(api.POST("/api/sessions", { body: { channelType: "web", clientInstanceId: instanceId(), agentId } })),
    failed: "No chat was opened",
    stale: () => [["sessions"]],
    done: ({ sessionKey }) => void navigate({ to: "/chat/$", params: { _splat: sessionKey }, replace }),
  });
}

export function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [name, setName] = useState(titleOfSession(session));
  const rename = useAction({
    act: (displayName: string | null) => ask(api.PATCH("/api/sessions/{key}", { params: { path: { key: session.key } }, body: { displayName } })),
    failed: "The chat was not renamed",
    stale: () => [["sessions"], ["session", session.key]],
    done: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate(name.trim() === "" ? null : name.trim());
  };
  return (
    <Dialog title="Rename this chat" about="Without a name it is called after its first words." open onClose={onClose}>
      <form onSubmit={submit} className="flex items-end gap-2">
        <label className="flex-1"><span className="note">Name</span><input className="field" value={name} onChange={(event) => setName(event.target.value)} autoFocus /></label>
        <Button type="submit" weight="main" busy={rename.isPending}>Rename</Button>
      </form>
    </Dialog>
  );
}
