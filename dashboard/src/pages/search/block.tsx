// The context block: what an agent would be given for a question, line by line, without running anything.

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, ask, type Shapes } from "../../data/api";
import { capital, plural } from "../../data/words";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Choose, TextField } from "../../ui/form";
import { Code } from "../../ui/markdown";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import type { SearchSearch } from "./address";

const blockQuery = ({ q = "", space, session, form, mode, size }: SearchSearch) => queryOptions({
  queryKey: ["search", "block", { q, space, session, form, mode, size }],
  queryFn: ({ signal }) => ask(api.GET("/api/context", {
    params: { query: { q, spaceId: space, sessionKey: session, form: form ?? "run", mode, maxChars: size === undefined ? undefined : Number(size) } },
    signal,
  })),
  placeholderData: keepPreviousData,
});

const MODES = [{ value: "", label: "Automatic" }, { value: "cheap", label: "Cheap" }, { value: "full", label: "Full" }, { value: "patient", label: "Patient" }];

type Props = { search: SearchSearch; set: (change: SearchSearch) => void };

export function Block({ search, set }: Props) {
  const read = useQuery(blockQuery(search));
  return (
    <section aria-label="Context block" className="grid gap-5 py-4">
      <div className="flex flex-wrap items-end gap-3">
        {search.session && (
          <Choose
            label="Form" className="max-sm:w-full sm:w-64" value={search.form ?? ""} onChange={(event) => set({ form: event.target.value === "" ? undefined : "clawboard" })}
            options={[{ value: "", label: "As a run of this session" }, { value: "clawboard", label: "As a bridge or plugin" }]}
          />
        )}
        <Choose label="Depth" className="w-40" options={MODES} value={search.mode ?? ""} onChange={(event) => set({ mode: event.target.value })} />
        <TextField
          label="Most characters" className="w-36" inputMode="numeric" placeholder="as set" value={search.size ?? ""}
          onChange={(event) => set({ size: event.target.value.replace(/\D/g, "").slice(0, 5) })}
        />
      </div>
      <Loaded query={read} waiting={<SkeletonRows />}>{(context) => <Shown context={context} asked={search} stale={read.isPlaceholderData} />}</Loaded>
    </section>
  );
}

const COLUMNS: Column<Shapes["ContextItem"]>[] = [
  { name: "Section", className: "w-40 align-top text-sm", cell: (item) => capital(item.section.replaceAll("_", " ").replace(/:$/, "")) },
  { name: "Reason", className: "text-sm", cell: (item) => <>{item.reason}<span className="note block">{item.scope}</span></> },
  { name: "Score", className: "w-16 text-right tabular-nums text-sm max-sm:hidden", cell: (item) => item.score?.toFixed(2) ?? "–" },
  { name: "Characters", className: "w-24 text-right tabular-nums text-sm", cell: (item) => item.chars },
];

function Shown({ context, asked, stale }: { context: Shapes["ContextShape"]; asked: SearchSearch; stale: boolean }) {
  const { data } = context;
  const omitted = Object.entries(data?.omitted ?? {}).filter(([, count]) => count > 0);
  if (context.block === "") {
    return <Empty title="Nothing would be added.">{asked.session ? <p>This session has nothing to recall for this question.</p> : <p>Choose a session above to see what a run of it would be shown, or ask something.</p>}</Empty>;
  }
  return (
    <div className={`grid gap-5 ${stale ? "opacity-60" : ""}`}>
      <p className="note" role="status">
        {plural(context.block.length, "character")}, {plural(data?.items.length ?? 0, "line")}, depth {context.mode}
        {omitted.length > 0 && ` · left out: ${omitted.map(([section, count]) => `${count} of ${section.replaceAll("_", " ")}`).join(", ")}`}
        {data?.degraded && ` · incomplete: ${data.degraded.replaceAll("_", " ")}`}
      </p>
      <div className="[&_pre]:whitespace-pre-wrap [&_pre]:wrap-anywhere"><Code>{context.block}</Code></div>
      {data && data.items.length > 0 && (
        <Table name="Why each line is in it" rows={data.items} columns={COLUMNS} idOf={(item) => `${item.section}-${item.id}`} titleOf={(item) => item.reason} />
      )}
    </div>
  );
}
