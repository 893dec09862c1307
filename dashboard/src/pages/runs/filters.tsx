// The filters of the list of runs; all of them are in the address.

import { useQuery } from "@tanstack/react-query";
import { agentsQuery, sessionQuery, taskQuery } from "../../data/queries";
import { capital, titleOfSession } from "../../data/words";
import { Button } from "../../ui/button";
import { SearchBox, Select, Switch } from "../../ui/choices";
import { Icon } from "../../ui/icon";
import { RUN_STATES, type RunsSearch } from "./address";

type Props = { search: RunsSearch; onChange: (part: Partial<RunsSearch>) => void };

export function RunFilters({ search, onChange }: Props) {
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const states = [{ value: "", label: "Every state" }, ...RUN_STATES.map((value) => ({ value, label: capital(value) }))];
  const slugs = [{ value: "", label: "Every agent" }, ...agents.map(({ id, name }) => ({ value: id, label: name || id }))];
  return (
    <div role="search" aria-label="Filter runs" className="flex flex-wrap items-center gap-2 py-3">
      <SearchBox name="Find in runs" value={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <Select name="State" value={search.state ?? ""} options={states} onChange={(state) => onChange({ state: RUN_STATES.find((each) => each === state) })} />
      <Select name="Agent" value={search.agent ?? ""} options={slugs} onChange={(agent) => onChange({ agent: agent || undefined })} />
      <Switch label="Failed only" on={search.state === "failed"} onChange={(on) => onChange({ state: on ? "failed" : undefined })} />
      {search.session && <SessionChip id={search.session} onClear={() => onChange({ session: undefined })} />}
      {search.task && <TaskChip id={search.task} onClear={() => onChange({ task: undefined })} />}
    </div>
  );
}

function SessionChip({ id, onClear }: { id: string; onClear: () => void }) {
  const session = useQuery(sessionQuery(id)).data?.session;
  return <Chip kind="Session" name={session ? titleOfSession(session) : id} onClear={onClear} />;
}

function TaskChip({ id, onClear }: { id: string; onClear: () => void }) {
  return <Chip kind="Task" name={useQuery(taskQuery(id)).data?.task.title ?? id} onClear={onClear} />;
}

function Chip({ kind, name, onClear }: { kind: string; name: string; onClear: () => void }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1 rounded-md border border-rule bg-green-wash pl-2.5 text-sm">
      <span className="min-w-0 truncate"><span className="text-soft">{kind}</span> {name}</span>
      <Button weight="bare" small aria-label={`Runs of every ${kind.toLowerCase()}`} onClick={onClear}><Icon name="close" className="size-3.5" /></Button>
    </span>
  );
}
