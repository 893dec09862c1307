// The filters of the board. All of them are in the address.

import { type Ref, useEffect, useRef, useState } from "react";
import type { Task } from "../../data/api";
import type { Directory } from "../../data/places";
import { Button } from "../../ui/button";
import { type BoardSearch, DUE, FILTERS } from "./address";

type Props = {
  search: BoardSearch;
  tasks: Task[];
  directory: Directory;
  field: Ref<HTMLInputElement>;
  /** Show all of them on a narrow window too. */
  all: boolean;
  onChange: (change: Partial<BoardSearch>) => void;
};

export function Filters({ search, tasks, directory, field, all, onChange }: Props) {
  const tags = [...new Set(tasks.flatMap((task) => task.tags))].sort();
  const active = FILTERS.some((name) => search[name] !== undefined);
  return (
    <div role="search" aria-label="Filter tasks" className="flex min-w-0 flex-1 flex-wrap items-center gap-2">
      <Words value={search.q ?? ""} field={field} onChange={(q) => onChange({ q: q || undefined })} />
      <div className={`${all ? "flex" : "hidden sm:flex"} flex-wrap items-center gap-2`}>
        <Choice name="Agent" value={search.agent} onChange={(agent) => onChange({ agent })} options={[["nobody", "Nobody"], ...directory.agents.map(({ id, name }): [string, string] => [id, name])]} />
        {directory.people.length > 0 && <Choice name="Person" value={search.person} onChange={(person) => onChange({ person })} options={directory.people.map(({ id, name }) => [id, name])} />}
        {tags.length > 0 && <Choice name="Tag" value={search.tag} onChange={(tag) => onChange({ tag })} options={tags.map((tag) => [tag, tag])} />}
        <Choice name="Due" value={search.due} onChange={(due) => onChange({ due: due as BoardSearch["due"] })} options={Object.entries(DUE)} />
        {tasks.some((task) => task.parentId !== null) && (
          <label className="flex items-center gap-1.5 text-sm text-soft">
            <input type="checkbox" className="accent-green" checked={search.sub !== "no"} onChange={(event) => onChange({ sub: event.target.checked ? undefined : "no" })} />Sub-tasks
          </label>
        )}
      </div>
      {active && <Button weight="plain" onClick={() => onChange(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>Clear</Button>}
    </div>
  );
}

const PAUSE_MS = 150;

/** What is typed appears at once; the address follows after a pause, so that Back does not go letter by letter. */
function Words({ value, field, onChange }: { value: string; field: Ref<HTMLInputElement>; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  // The page is drawn again with every event, which must not lengthen the pause.
  const tell = useRef(onChange);
  tell.current = onChange;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => tell.current(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return <input ref={field} type="search" aria-label="Filter by text" placeholder="Filter…" className="field w-44! text-sm! max-sm:w-auto! max-sm:min-w-28 max-sm:flex-1" value={text} onChange={(event) => setText(event.target.value)} />;
}

type ChoiceProps = { name: string; value: string | undefined; options: [string, string][]; onChange: (value: string | undefined) => void };

function Choice({ name, value, options, onChange }: ChoiceProps) {
  return (
    <select aria-label={name} className={`field w-auto! max-w-36 py-1 text-sm! ${value ? "border-green! font-semibold" : "text-soft!"}`} value={value ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
      <option value="">{name}</option>
      {options.map(([id, label]) => <option key={id} value={id}>{label}</option>)}
    </select>
  );
}
