// The command palette: go to a page, create something, or find anything by its words or meaning.

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { type ReactNode, useDeferredValue, useEffect, useState } from "react";
import { searchQuery, sessionsQuery } from "../../data/queries";
import { firstLine, titleOfSession } from "../../data/words";
import { useAgentName } from "../agent";
import { Dialog } from "../dialog";
import { Icon } from "../icon";
import { CREATE, NAVIGATION } from "../../routes";

const SESSIONS_MOST = 6;
const PAUSE_MS = 120;

/** `mode` "create" offers only what can be made. */
export function Palette({ mode, onClose }: { mode: "all" | "create" | null; onClose: () => void }) {
  return (
    <Dialog title="Command palette" bare open={mode !== null} onClose={onClose}>
      {mode !== null && <Commands mode={mode} onClose={onClose} />}
    </Dialog>
  );
}

function Commands({ mode, onClose }: { mode: "all" | "create"; onClose: () => void }) {
  const navigate = useNavigate();
  const agentName = useAgentName();
  const [text, setText] = useState("");
  const q = useLater(useDeferredValue(text.trim()));
  const sought = mode === "all" ? q : "";
  const found = useQuery(searchQuery(sought));
  const sessions = useQuery({ ...sessionsQuery({ q: sought, limit: SESSIONS_MOST }, 1), enabled: sought !== "" });
  const go = (to: string, extra: object = {}) => () => {
    onClose();
    // The tables of routes are checked where they are written; here they are only followed.
    void navigate({ to, ...extra } as Parameters<typeof navigate>[0]);
  };
  const matches = (name: string) => name.toLowerCase().includes(text.trim().toLowerCase());
  const hits = sought === "" ? undefined : found.data;
  return (
    <Command shouldFilter={false} label="Command palette" className="grid max-h-[70dvh] grid-rows-[auto_minmax(0,1fr)]">
      <div className="flex items-center gap-2 border-b border-rule px-4 py-1 text-soft">
        <Icon name={mode === "create" ? "plus" : "search"} />
        <Command.Input
          value={text} onValueChange={setText} autoFocus aria-label="Command"
          placeholder={mode === "create" ? "Create…" : "Go to a page, create, or search everything…"}
          className="h-11 w-full bg-transparent text-base text-ink outline-none"
        />
      </div>
      <Command.List className="overflow-y-auto p-2">
        <Command.Empty className="note px-3 py-4">{found.isFetching ? "Searching…" : "Nothing found."}</Command.Empty>
        <Group name="Create">
          {CREATE.filter(({ name }) => matches(`new ${name}`)).map(({ name, to, search }) => (
            <Item key={name} id={`create-${name}`} onSelect={go(to, { search })}>New {name}</Item>
          ))}
        </Group>
        {mode === "all" && (
          <Group name="Go to">
            {NAVIGATION.filter(({ name }) => matches(name)).map(({ name, to, keys }) => (
              <Item key={to} id={`go-${name}`} onSelect={go(to)} note={<span className="kbd">g {keys}</span>}>{name}</Item>
            ))}
          </Group>
        )}
        {hits && (
          <>
            <Group name="Sessions">
              {sessions.data?.rows.map((row) => (
                <Item key={row.key} id={row.key} onSelect={go("/chat/$", { params: { _splat: row.key } })} note={agentName(row.agentSlug)}>{titleOfSession(row)}</Item>
              ))}
            </Group>
            <Group name="Tasks">
              {hits.tasks.map((task) => (
                <Item key={task.id} id={task.id} onSelect={go("/tasks/$id", { params: { id: task.id } })} note={task.status.replaceAll("_", " ")}>{task.title}</Item>
              ))}
            </Group>
            <Group name="Said and noted">
              {[...hits.notes, ...hits.logs].map((log) => (
                <Item key={log.id} id={log.id} onSelect={log.sessionKey ? go("/chat/$", { params: { _splat: log.sessionKey } }) : onClose} note={agentName(log.agentId)}>
                  {firstLine(log.summary || log.content, 90)}
                </Item>
              ))}
            </Group>
          </>
        )}
      </Command.List>
    </Command>
  );
}

/** Return the value after a pause in which it did not change: a search for every letter would be waste. */
function useLater(value: string): string {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return later;
}

/** A heading and its rows; nothing where there are none. */
function Group({ name, children }: { name: string; children: ReactNode[] | undefined }) {
  if (!children?.length) return null;
  return <Command.Group heading={name} className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-soft">{children}</Command.Group>;
}

function Item({ id, onSelect, note, children }: { id: string; onSelect: () => void; note?: ReactNode; children: ReactNode }) {
  return (
    <Command.Item value={id} onSelect={onSelect} className="flex cursor-pointer items-center justify-between gap-4 rounded-md px-3 py-1.5 data-[selected=true]:bg-green-wash">
      <span className="min-w-0 truncate">{children}</span>{note && <span className="note shrink-0">{note}</span>}
    </Command.Item>
  );
}
