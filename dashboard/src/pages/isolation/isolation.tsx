// Isolation: which sessions keep to themselves, which are on the board, and by which ways anything crosses.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Session } from "../../data/api";
import { plural, titleOfSession } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { SearchBox, Select, Switch } from "../../ui/choices";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { kindOf, listQuery } from "../sessions/data";
import type { IsolationSearch } from "./address";
import { Crossing, CROSSING } from "./rules";

const RECALLS = [{ value: "", label: "Every session" }, { value: "own", label: "Private" }, { value: "space", label: "Recalls the board" }];

const COLUMNS: Column<Session>[] = [
  { name: "Session", cell: (row) => <Link to="/isolation/$key" params={{ key: row.key }} className="block truncate no-underline hover:underline">{titleOfSession(row)}</Link>, className: "max-w-0 w-full" },
  { name: "Recall", cell: (row) => <Recall recall={row.recall} />, className: "whitespace-nowrap" },
  { name: "Agent", cell: (row) => <AgentName id={row.agentSlug} />, className: "whitespace-nowrap text-soft max-md:hidden" },
  { name: "Used", cell: (row) => <Age at={row.updatedAt} className="whitespace-nowrap text-soft" />, className: "text-right" },
];

function Recall({ recall }: { recall: Session["recall"] }) {
  return recall === "space" ? <span className="text-brass">Recalls the board</span> : <span className="text-green">Private</span>;
}

export function Isolation() {
  const search = useSearch({ from: "/isolation" });
  const navigate = useNavigate({ from: "/isolation" });
  const change = useCallback((part: Partial<IsolationSearch>) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }), [navigate]);
  const query = useQuery(listQuery({ q: search.q }));
  const rows = useMemo(() => (query.data?.rows ?? []).filter((row) => (search.machine === "1" || kindOf(row.key) !== "machine") && (search.recall === undefined || row.recall === search.recall)), [query.data, search]);
  return (
    <>
      <Title name="Isolation"><p className="mt-1.5 max-w-[52rem] text-soft">What is said in a session stays in it, unless somebody puts it on the board. Open a session to see what reaches it and what was refused. <a href={`#${CROSSING}`} onClick={toRules} className="underline">What crosses and what does not</a></p></Title>
      <div role="search" aria-label="Filter sessions" className="flex flex-wrap items-center gap-2 py-3">
        <SearchBox name="Find a session" value={search.q ?? ""} onChange={(q) => change({ q: q || undefined })} />
        <Select name="Recall" value={search.recall ?? ""} options={RECALLS} onChange={(recall) => change({ recall: recall === "own" || recall === "space" ? recall : undefined })} />
        <Switch label="Show machine-made" on={search.machine === "1"} onChange={(on) => change({ machine: on ? "1" : undefined })} />
      </div>
      <Loaded query={query} waiting={<SkeletonRows label="Loading sessions" />}>
        {() => (
          <>
            <p role="status" className="note border-b border-rule py-1.5">{plural(rows.length, "session")}, {rows.filter((row) => row.recall === "own").length} private</p>
            {rows.length === 0
              ? <Empty title="No session matches." />
              : <Table name="Sessions" rows={rows} columns={COLUMNS} idOf={(row) => row.key} titleOf={titleOfSession} onOpen={(row) => void navigate({ to: "/isolation/$key", params: { key: row.key } })} />}
          </>
        )}
      </Loaded>
      <Crossing />
    </>
  );
}

/** Go to the rules without a fragment in the address, which is where a token would be. */
export function toRules(event: { preventDefault: () => void }): void {
  event.preventDefault();
  const rules = document.getElementById(CROSSING);
  rules?.scrollIntoView({ block: "start" });
  rules?.focus({ preventScroll: true });
}
