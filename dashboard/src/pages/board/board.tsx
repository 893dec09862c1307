// Board: where does the work stand?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import type { Space, Task, Topic } from "../../data/api";
import { spacesQuery, topicsQuery, useDirectory } from "../../data/places";
import { runsQuery } from "../../data/queries";
import { boardQuery, useLiveBoard } from "../../data/tasks";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { Title } from "../../ui/title";
import { useMover } from "../task/mover";
import { TaskPeek } from "../task/peek";
import type { BoardSearch, View } from "./address";
import { Bulk } from "./bulk";
import type { Around, Pulse } from "./card";
import { Columns } from "./columns";
import { filtered } from "./data";
import { Filters } from "./filters";
import { NewTask } from "./form";
import { List, Tree } from "./list";
import { QuickAdd } from "./quick";
import { Side } from "./side";

const VIEWS: { value: View; label: string }[] = [{ value: "columns", label: "Columns" }, { value: "list", label: "List" }, { value: "tree", label: "Tree" }];
const NO_TOPICS: Topic[] = [];
const NO_SPACES: Space[] = [];
const NO_TASKS: Task[] = [];

export function Board() {
  const search = useSearch({ from: "/board" });
  const navigate = useNavigate({ from: "/board" });
  const change = (part: Partial<BoardSearch>, replace = false) => void navigate({ search: (now: BoardSearch) => ({ ...now, ...part }), replace });
  const query = useQuery(boardQuery());
  const tasks = query.data?.rows ?? NO_TASKS;
  const topics = useQuery(topicsQuery()).data?.rows ?? NO_TOPICS;
  const spaces = useQuery(spacesQuery()).data?.rows ?? NO_SPACES;
  const directory = useDirectory();
  const field = useRef<HTMLInputElement>(null);
  const [side, setSide] = useState(false);
  useLiveBoard();
  useShortcuts([
    { keys: "/", does: "Filter by text", run: () => field.current?.focus() },
    ...VIEWS.map(({ value: view, label }, i) => ({ keys: `v ${i + 1}`, does: `Show as ${label.toLowerCase()}`, run: () => change({ view }) })),
  ]);
  const places = <Side spaces={spaces} topics={topics} tasks={tasks} search={search} />;
  return (
    <div className="flex min-w-0 flex-1 flex-col lg:-mx-5">
      <Title name="Board" actions={<><Views search={search} onChange={change} /><Button weight="main" onClick={() => change({ new: "1" })}><Icon name="plus" className="size-4" />New task</Button></>} />
      <div className="flex items-start gap-2 py-3">
        <Button className="max-w-40 xl:hidden" aria-expanded={side} onClick={() => setSide(!side)}><span className="truncate">{nameOfPlace(search, spaces, topics)}</span><Icon name="down" className="size-4" /></Button>
        <Filters search={search} tasks={tasks} directory={directory} field={field} all={side} onChange={(part) => change(part, "q" in part && Object.keys(part).length === 1)} />
      </div>
      {side && <div className="pb-3 xl:hidden">{places}</div>}
      <div className="flex min-w-0 flex-1 gap-4">
        <div className="hidden w-40 shrink-0 xl:block">{places}</div>
        <Loaded query={query} waiting={<Skeleton />}>
          {({ rows, more }) => <Tasks rows={rows} more={more} topics={topics} search={search} onChange={change} />}
        </Loaded>
      </div>
      {search.new !== undefined && (
        <NewTask search={search} topics={topics} directory={directory} onClose={() => change({ new: undefined }, true)} onMade={(task) => change({ new: undefined, peek: task.id }, true)} />
      )}
      {search.peek !== undefined && (
        <TaskPeek key={search.peek} id={search.peek} tab={search.tab} onTab={(tab) => change({ tab }, true)} onClose={() => change({ peek: undefined, tab: undefined })} onOpen={(peek) => change({ peek, tab: undefined })} />
      )}
    </div>
  );
}

function nameOfPlace({ space, topic }: BoardSearch, spaces: Space[], topics: Topic[]): string {
  if (topic === "none") return "No topic";
  return topics.find(({ id }) => id === topic)?.name ?? spaces.find(({ id }) => id === space)?.name ?? "All topics";
}

type TasksProps = { rows: Task[]; more: boolean; topics: Topic[]; search: BoardSearch; onChange: (part: Partial<BoardSearch>) => void };

function Tasks({ rows, more, topics, search, onChange }: TasksProps) {
  const directory = useDirectory();
  const around = useAround(rows, directory.nameOf);
  // The day changes seldom enough to be read whenever the tasks do.
  const shown = useMemo(() => filtered(rows, search, Date.now()), [rows, search]);
  const { chosen, setChosen, choose } = useChosen(shown);
  const { move, form } = useMover();
  const open = useLatest((task: Task) => onChange({ peek: task.id, tab: undefined }));
  const topicName = (id: string | null) => topics.find((topic) => topic.id === id)?.name ?? "";
  const picked = shown.filter((task) => chosen.has(task.id));
  const views = { tasks: shown, around, chosen, peek: search.peek, onOpen: open };
  const quick = <QuickAdd search={search} directory={directory} />;
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      {more && <p className="note pb-2">Only the first 5,000 tasks are shown.</p>}
      {rows.length > 0 && shown.length === 0 && <p role="status" className="note pb-2">No task matches these filters.</p>}
      {(search.view === "list" || search.view === "tree") ? (
        <>
          <div className="-mx-1.5 max-w-md">{quick}</div>
          {rows.length === 0 ? <Empty title="No tasks yet.">Write the first one above, or let an agent make one.</Empty> : search.view === "list"
            ? <List {...views} topicName={topicName} onChosen={setChosen} />
            : <Tree {...views} topicName={topicName} onChosen={setChosen} />}
        </>
      ) : <Columns {...views} onChoose={choose} onMove={move} quick={quick} />}
      {picked.length > 0 && <Bulk tasks={picked} directory={directory} onMove={move} onClear={() => setChosen(new Set())} />}
      {form}
    </div>
  );
}

/** Return the function of the last drawing under one identity, so that cards that did not change are not drawn again. */
function useLatest<Input>(act: (input: Input) => void): (input: Input) => void {
  const latest = useRef(act);
  latest.current = act;
  return useCallback((input) => latest.current(input), []);
}

/** The chosen tasks; with shift everything between the last one and this one is chosen. */
function useChosen(shown: Task[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const order = useRef(shown);
  order.current = shown;
  const choose = useCallback((id: string, range: boolean) => {
    const from = last.current;
    last.current = id;
    setChosen((now) => {
      const next = new Set(now);
      const peers = order.current.filter((task) => task.status === order.current.find((each) => each.id === id)?.status);
      const [low = 0, high = 0] = [peers.findIndex((each) => each.id === from), peers.findIndex((each) => each.id === id)].sort((one, other) => one - other);
      if (range && low >= 0) for (const task of peers.slice(low, high + 1)) next.add(task.id);
      else if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  return { chosen, setChosen, choose };
}

function useAround(tasks: Task[], nameOf: (id: string) => string): Around {
  const running = useQuery(runsQuery({ state: "running" }, 1)).data?.rows;
  const waiting = useQuery(runsQuery({ state: "waiting" }, 1)).data?.rows;
  const pulses = useMemo(() => {
    const all = new Map<string, Pulse>();
    for (const run of running ?? []) if (run.taskId) all.set(run.taskId, "running");
    for (const run of waiting ?? []) if (run.taskId && run.waitingFor !== "tool_output") all.set(run.taskId, "waiting");
    return all;
  }, [running, waiting]);
  return useMemo(() => {
    const parts = new Map<string, [number, number]>();
    for (const { parentId, status } of tasks) {
      if (parentId === null) continue;
      const [count, done] = parts.get(parentId) ?? [0, 0];
      parts.set(parentId, [count + 1, done + (status === "done" ? 1 : 0)]);
    }
    return { nameOf, pulses, parts, open: new Set(tasks.filter(({ status }) => status !== "done").map(({ id }) => id)) };
  }, [tasks, nameOf, pulses]);
}

function Views({ search, onChange }: { search: BoardSearch; onChange: (part: Partial<BoardSearch>) => void }) {
  return (
    <Options
      name="View" value={search.view ?? "columns"} options={VIEWS}
      onChange={(next) => onChange({ view: VIEWS.find(({ value }) => value === next && value !== "columns")?.value })}
    />
  );
}

function Skeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex min-w-0 flex-1 gap-2 overflow-hidden">
      {Array.from({ length: 6 }, (_, i) => (
        <div key={i} className="grid h-96 min-w-[11rem] flex-1 content-start gap-1.5 rounded-lg bg-rule/25 p-1.5 pt-9">
          {Array.from({ length: 5 - (i % 3) }, (_each, n) => <div key={n} className="h-16 rounded-md bg-leaf/70" />)}
        </div>
      ))}
    </div>
  );
}
