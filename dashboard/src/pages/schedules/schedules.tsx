// Schedules: what happens by itself, and when next?

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useAction } from "../../data/action";
import { api, ask, readAll, type Shapes } from "../../data/api";
import { cache } from "../../data/cache";
import { agentsQuery, sessionsQuery } from "../../data/queries";
import { capital, firstLine, nameOfKey, titleOfSession } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { useOpened } from "../../ui/opened";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { toast } from "../../ui/toast";
import type { SchedulesSearch } from "./address";
import { wordsOf } from "./cron";
import { ScheduleForm } from "./form";
import { SchedulePeek } from "./schedule";

export type Schedule = Shapes["ScheduleShape"];
type Listed = { rows: Schedule[]; more: boolean };

const schedulesQuery = queryOptions({
  queryKey: ["schedules"],
  queryFn: ({ signal }) => readAll((cursor) => ask(api.GET("/api/schedules", { params: { query: { limit: 200, cursor } }, signal })), (page) => page.schedules),
});

export const titleOf = (schedule: Schedule): string => firstLine(schedule.message, 90) || (schedule.type === "goal" ? "Work on a goal" : "Work on a task");

/** Return how a session is called. */
export function useSessionName(): (key: string) => string {
  const rows = useQuery(sessionsQuery({}, 1)).data?.rows ?? [];
  return (key) => {
    const found = rows.find((row) => row.key === key);
    return found ? titleOfSession(found) : nameOfKey(key);
  };
}

/** What can be done with a schedule: pause or resume it, run it now, delete it. */
export function useScheduling() {
  const change = (id: string, to: (row: Schedule) => Schedule | null) => cache.setQueryData<Listed>(["schedules"], (page) => page && {
    ...page, rows: page.rows.flatMap((row) => (row.id === id ? (to(row) ?? []) : [row])),
  });
  const keys = () => [["schedules"]];
  return {
    enable: useAction({
      act: ({ id, enabled }: { id: string; enabled: boolean }) => ask(api.PATCH("/api/schedules/{id}", { params: { path: { id } }, body: { enabled } })),
      failed: "The schedule was not changed",
      optimistic: { keys, change: ({ id, enabled }) => change(id, (row) => ({ ...row, enabled, nextAt: enabled ? row.nextAt : null })) },
    }),
    run: useAction({
      act: (id: string) => ask(api.POST("/api/schedules/{id}/run", { params: { path: { id } } })),
      failed: "The schedule was not run",
      stale: keys,
      done: () => toast({ text: "Started. Its next time stays as it was." }),
    }),
    remove: useAction({
      act: (id: string) => ask(api.DELETE("/api/schedules/{id}", { params: { path: { id } } })),
      failed: "The schedule was not deleted",
      optimistic: { keys, change: (id) => change(id, () => null) },
    }),
  };
}

export function Schedules() {
  const search = useSearch({ from: "/schedules" });
  const navigate = useNavigate({ from: "/schedules" });
  const set = (change: SchedulesSearch, replace = false) => void navigate({ search: (before) => ({ ...before, ...change }), replace });
  useShortcuts([
    { keys: "n", does: "New schedule", run: () => set({ new: "1" }) },
    { keys: "e", does: "Edit the open schedule", run: () => search.peek && set({ edit: search.peek }) },
  ]);
  return (
    <>
      <Title
        name="Schedules"
        actions={<>
          <Options name="Which" value={search.state ?? ""} onChange={(state) => set({ state: state === "on" || state === "paused" ? state : undefined })} options={[{ value: "", label: "All" }, { value: "on", label: "On" }, { value: "paused", label: "Paused" }]} />
          <Button weight="main" onClick={() => set({ new: "1" })}><Icon name="plus" className="size-4" />New schedule</Button>
        </>}
      />
      <div className="py-3"><Loaded query={useQuery(schedulesQuery)} waiting={<SkeletonRows />}>{(data) => <List rows={data.rows} search={search} set={set} />}</Loaded></div>
    </>
  );
}

export const stateOf = (schedule: Schedule): string => (schedule.enabled ? "On" : schedule.disabledReason && schedule.disabledReason !== "requested" ? `Stopped: ${schedule.disabledReason.replaceAll("_", " ")}` : "Paused");

function List({ rows, search, set }: { rows: Schedule[]; search: SchedulesSearch; set: (change: SchedulesSearch, replace?: boolean) => void }) {
  const { enable, run } = useScheduling();
  const sessionName = useSessionName();
  const agents = useQuery(agentsQuery()).data?.agents ?? [];
  const shown = rows.filter(({ enabled }) => search.state === undefined || enabled === (search.state === "on"));
  const open = useOpened(rows, ({ id }, wanted) => id === wanted, { wanted: search.peek, queryKey: ["schedules"], gone: "There is no such schedule any more.", forget: () => set({ peek: undefined }, true) });
  const edited = rows.find(({ id }) => id === search.edit);
  const columns: Column<Schedule>[] = [
    {
      name: "What",
      cell: (row) => (
        <div className="min-w-0 py-0.5">
          <span className={row.enabled ? "" : "text-soft"}>{titleOf(row)}</span>
          <span className="note block">{agents.find(({ id }) => id === row.agentId)?.name ?? row.agentId} · {row.isolated ? "a session of its own" : sessionName(row.sessionKey)}</span>
          <span className="note block sm:hidden">{wordsOf(row.cron)}</span>
        </div>
      ),
    },
    { name: "When", className: "w-56 text-sm max-sm:hidden", cell: (row) => <>{wordsOf(row.cron)}<span className="note block">{row.timezone}</span></> },
    { name: "Next", className: "w-44 text-sm whitespace-nowrap max-md:hidden", cell: (row) => row.nextAt ? <Moment at={row.nextAt} /> : <span className="text-soft">{stateOf(row)}</span> },
    { name: "Last", className: "w-32 text-sm max-lg:hidden", cell: (row) => row.lastAt ? <><StateBadge state={row.lastStatus ?? "idle"} label={capital((row.lastStatus ?? "").replaceAll("_", " "))} /><Age at={row.lastAt} ago className="note block" /></> : <span className="text-soft">never</span> },
    {
      name: "Actions", bare: true, className: "w-40 text-right whitespace-nowrap",
      cell: (row) => (
        <span className="inline-flex gap-1">
          <Button small aria-label={`Run now: ${titleOf(row)}`} busy={run.isPending} onClick={() => run.mutate(row.id)}>Run</Button>
          <Button small aria-label={`${row.enabled ? "Pause" : "Resume"}: ${titleOf(row)}`} onClick={() => enable.mutate({ id: row.id, enabled: !row.enabled })}>{row.enabled ? "Pause" : "Resume"}</Button>
        </span>
      ),
    },
  ];
  return (
    <>
      {rows.length === 0 ? (
        <Empty title="No schedules yet."><p>A schedule sends a message to a session, or lets an agent work on a goal or task, at regular times.</p><Button weight="main" onClick={() => set({ new: "1" })}>New schedule</Button></Empty>
      ) : shown.length === 0 ? <Empty title={search.state === "on" ? "Every schedule is paused" : "No schedule is paused"} /> : (
        <Table name="Schedules" rows={shown} columns={columns} idOf={({ id }) => id} titleOf={titleOf} openId={open?.id} onOpen={({ id }) => set({ peek: id })} />
      )}
      {open && <SchedulePeek key={open.id} schedule={open} sessionName={sessionName(open.sessionKey)} onEdit={() => set({ edit: open.id })} onClose={() => set({ peek: undefined })} />}
      {(search.new || edited) && <ScheduleForm key={edited?.id ?? ""} schedule={edited} onClose={() => set({ new: undefined, edit: undefined })} onDone={(id) => set({ new: undefined, edit: undefined, peek: id })} />}
    </>
  );
}

export function Moment({ at }: { at: string | number }) {
  const moment = new Date(at);
  return <time dateTime={moment.toISOString()} title={moment.toLocaleString()}>{moment.toLocaleString(undefined, { weekday: "short", day: "numeric", month: "short", hour: "numeric", minute: "2-digit" })}</time>;
}
