// Runs: what every agent did and does, how long it waited and worked, and what failed.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import type { Run } from "../../data/api";
import { runQuery, runsQuery } from "../../data/queries";
import { plural, titleOfRun } from "../../data/words";
import { Button } from "../../ui/button";
import { Switch } from "../../ui/choices";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Peek } from "../../ui/peek";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import type { RunsSearch } from "./address";
import { isLive, useCancel, useRetry } from "./data";
import { RunFilters } from "./filters";
import { RunTable } from "./list";
import { RunDigest } from "./digest";
import { RunTimeline } from "./timeline";

const COMPARED = 2;

export function Runs() {
  const search = useSearch({ from: "/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const change = useCallback((part: Partial<RunsSearch>) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }), [navigate]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = useQuery(runsQuery({ sessionKey: search.session, agentId: search.agent, taskId: search.task, state: search.state }));
  const rows = useMemo(() => matching(query.data?.rows ?? [], search.q), [query.data, search.q]);
  const marked = rows.filter((run) => chosen.has(run.id));
  const open = (run: Run) => void navigate({ search: (before) => ({ ...before, peek: run.id }), resetScroll: false });
  const isNarrowed = Boolean(search.state || search.agent || search.session || search.task || search.q);
  return (
    <>
      <Title name="Runs" actions={<ViewChoice view={search.view} onChange={(view) => change({ view })} />} />
      <RunFilters search={search} onChange={change} />
      <Loaded query={query} waiting={<SkeletonRows count={12} label="Loading runs" />}>
        {({ more }) => (
          <>
            <div className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 border-b border-rule py-1">
              {marked.length > 0 ? <Bulk runs={marked} onDone={() => setChosen(new Set())} /> : <p role="status" className="note">{plural(rows.length, "run")}{more && ", the newest; narrow the filters for older ones"}</p>}
              {search.view === "timeline" && <span className="ml-auto"><Switch label="Hide queue time" on={search.queue === "hidden"} onChange={(on) => change({ queue: on ? "hidden" : undefined })} /></span>}
            </div>
            {rows.length === 0 && <NoRuns isNarrowed={isNarrowed} />}
            {rows.length > 0 && search.view !== "timeline" && <RunTable runs={rows} openId={search.peek ?? null} onOpen={open} chosen={chosen} onChoose={setChosen} />}
            {rows.length > 0 && search.view === "timeline" && <RunTimeline runs={rows} search={search} onChange={change} onOpen={open} />}
          </>
        )}
      </Loaded>
      {search.peek && <RunPeek key={search.peek} id={search.peek} onClose={() => void navigate({ search: (before) => ({ ...before, peek: undefined }), resetScroll: false })} />}
    </>
  );
}

function matching(runs: Run[], q: string | undefined): Run[] {
  const wanted = q?.trim().toLowerCase() ?? "";
  if (wanted === "") return runs;
  return runs.filter((run) => [titleOfRun(run), run.message.text, run.reply, run.error?.message, run.sessionTitle, run.id]
    .some((text) => text?.toLowerCase().includes(wanted)));
}

function ViewChoice({ view, onChange }: { view: RunsSearch["view"]; onChange: (view: RunsSearch["view"]) => void }) {
  return (
    <Options
      name="View" value={view ?? "list"} onChange={(next) => onChange(next === "timeline" ? next : undefined)}
      options={[{ value: "list", label: "List" }, { value: "timeline", label: "Timeline" }]}
    />
  );
}

function Bulk({ runs, onDone }: { runs: Run[]; onDone: () => void }) {
  const retry = useRetry();
  const cancel = useCancel();
  const failed = runs.filter((run) => run.state === "failed");
  const live = runs.filter(isLive);
  const all = (act: (run: Run) => void, some: Run[]) => () => {
    some.forEach(act);
    onDone();
  };
  return (
    <>
      <p role="status" className="text-sm font-semibold">{plural(runs.length, "run")} chosen</p>
      {runs.length === COMPARED && <Link to="/runs/$id/context" params={{ id: runs[1]?.id ?? "" }} search={{ with: runs[0]?.id }} className="button quiet small">Compare</Link>}
      {failed.length > 0 && <Button small onClick={all((run) => retry.mutate(run), failed)}>Retry {failed.length}</Button>}
      {live.length > 0 && <Button small weight="danger" onClick={all((run) => cancel.mutate(run), live)}>Cancel {live.length}</Button>}
      <Button small weight="plain" onClick={onDone}>Clear</Button>
      {runs.length === 1 && <span className="note">Choose another one to compare the two.</span>}
    </>
  );
}

function NoRuns({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) return <Empty title="No run matches these filters."><Link to="/runs" className="underline">Show all runs</Link></Empty>;
  return <Empty title="Nothing has run yet."><p>Every message to an agent becomes a run: it waits for its turn in its session, works in steps, and ends with a reply. <Link to="/chat" className="underline">Send one</Link></p></Empty>;
}

function RunPeek({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery(runQuery(id));
  const title = query.data ? titleOfRun(query.data.run) : "Run";
  return (
    <Peek title={title} onClose={onClose} actions={<Link to="/runs/$id" params={{ id }} className="button quiet small">Open</Link>}>
      <Loaded query={query} waiting={<SkeletonRows count={5} />}>{({ run }) => <RunDigest run={run} />}</Loaded>
    </Peek>
  );
}
