// The places that have a memory of their own: everyone, each session, each task.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { sessionsQuery, tasksQuery } from "../../data/queries";
import { nameOfKey, titleOfSession } from "../../data/words";
import { useAgentName } from "../../ui/agent";
import { Choose } from "../../ui/form";
import { GLOBAL, type MemorySearch } from "./address";

const SHOWN_MOST = 40;
const EVERYONE = "Everyone";

type Place = { key: string; name: string; note: string; search: MemorySearch };

function usePlaces(): { sessions: Place[]; tasks: Place[] } {
  const sessions = useQuery(sessionsQuery({}, 1));
  const tasks = useQuery(tasksQuery({}, 1));
  const agentName = useAgentName();
  return {
    sessions: (sessions.data?.rows ?? []).map((row) => ({ key: row.key, name: titleOfSession(row), note: agentName(row.agentSlug), search: { session: row.key } })),
    tasks: (tasks.data?.rows ?? []).map((row) => ({ key: `task:${row.id}`, name: row.title, note: row.status.replaceAll("_", " "), search: { scope: `task:${row.id}` } })),
  };
}

/** Return how a scope, or the key of a session, is called. */
export function useScopeName(): (scope: string) => string {
  const { sessions, tasks } = usePlaces();
  return (scope) => {
    if (scope === GLOBAL) return EVERYONE;
    const place = [...sessions, ...tasks].find(({ key }) => key === scope || (scope.startsWith("session:") && key.endsWith(scope.slice("session".length))));
    return place?.name ?? (scope.startsWith("agent:") ? nameOfKey(scope) : scope);
  };
}

export function Scopes({ search, set }: { search: MemorySearch; set: (change: MemorySearch) => void }) {
  const { sessions, tasks } = usePlaces();
  const [text, setText] = useState("");
  const here = search.session ?? search.scope ?? GLOBAL;
  const all: Place[] = [{ key: GLOBAL, name: EVERYONE, note: "", search: { scope: GLOBAL } }, ...sessions, ...tasks];
  const matches = ({ name }: Place) => name.toLowerCase().includes(text.trim().toLowerCase());
  const known = all.some(({ key }) => key === here);
  return (
    <>
      <Choose
        label="Whose memory" className="pt-4 lg:hidden" value={here} onChange={(event) => set(to(all.find(({ key }) => key === event.target.value)?.search ?? {}))}
        options={[...all.map(({ key, name, note }) => ({ value: key, label: note ? `${name} · ${note}` : name })), ...(known ? [] : [{ value: here, label: here }])]}
      />
      <nav aria-label="Whose memory" className="hidden py-4 lg:block">
        <ul><Entry place={all[0] as Place} here={here} /></ul>
        <input className="field mt-3" aria-label="Find a session or task" placeholder="Find a session or task" value={text} onChange={(event) => setText(event.target.value)} />
        <Group name="Sessions" places={sessions.filter(matches)} here={here} />
        <Group name="Tasks" places={tasks.filter(matches)} here={here} />
      </nav>
    </>
  );
}

const to = (search: MemorySearch): MemorySearch => ({ scope: undefined, session: undefined, q: undefined, ...search });

function Group({ name, places, here }: { name: string; places: Place[]; here: string }) {
  if (places.length === 0) return null;
  return (
    <>
      <h2 className="note mt-3 font-sans! font-normal!">{name}</h2>
      <ul className="max-h-[26dvh] overflow-y-auto">{places.slice(0, SHOWN_MOST).map((place) => <Entry key={place.key} place={place} here={here} />)}</ul>
    </>
  );
}

function Entry({ place, here }: { place: Place; here: string }) {
  const current = place.key === here;
  return (
    <li>
      <Link
        to="/memory" search={place.search} title={place.name}
        aria-current={current ? "true" : undefined}
        className={`flex items-baseline gap-2 border-l-2 px-2 py-0.5 text-sm no-underline hover:text-ink ${current ? "border-green text-ink" : "border-transparent text-soft"}`}
      >
        <span className="min-w-0 flex-1 truncate">{place.name}</span><span className="shrink-0 text-xs">{place.note}</span>
      </Link>
    </li>
  );
}
