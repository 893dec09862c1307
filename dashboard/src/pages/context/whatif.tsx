// "Ask again with": which context a run of this session would be shown for another question, depth, recall or size.
// Nothing is run and nothing is stored.

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, ask } from "../../data/api";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Select } from "../../ui/choices";
import { Loaded } from "../../ui/failure";
import type { ContextSearch } from "./address";
import { linesOf, type Recalled } from "./model";
import { LeftOut, RecalledLines } from "./recalled";

type Asked = Pick<ContextSearch, "q" | "depth" | "recall" | "size">;

const DEPTHS = [
  { value: "", label: "Depth as set" }, { value: "auto", label: "Auto: by the question" }, { value: "cheap", label: "Cheap: no search" },
  { value: "full", label: "Full: always search" }, { value: "patient", label: "Patient: search and show more" },
];
const RECALLS = [{ value: "", label: "Recall as set" }, { value: "own", label: "This session alone" }, { value: "space", label: "The board" }];
const SIZES = [500, 1_000, 2_200, 4_000, 8_000, 12_000].map((size) => ({ value: String(size), label: `${size.toLocaleString("en")} characters` }));

const askedQuery = (sessionKey: string, { q = "", depth, recall, size }: Asked) => queryOptions({
  queryKey: ["session", sessionKey, "context", { q, depth, recall, size }],
  queryFn: ({ signal }) => ask(api.GET("/api/context", { params: { query: { form: "run", sessionKey, q, mode: depth, recall, maxChars: size } }, signal })),
  placeholderData: keepPreviousData,
});

type Props = { sessionKey: string; asked: Asked; shown: Recalled[]; onAsk: (asked: Asked) => void };

export function WhatIf({ sessionKey, asked, shown, onAsk }: Props) {
  const query = useQuery(askedQuery(sessionKey, asked));
  const before = new Set(shown.map((line) => line.id));
  return (
    <div className="grid gap-3 py-2">
      <Form asked={asked} onAsk={onAsk} />
      <Loaded query={query}>
        {({ block, data, mode }) => {
          const lines = linesOf(block, data?.items ?? []);
          const added = new Set(lines.filter((line) => !before.has(line.id)).map((line) => line.id));
          const gone = shown.filter((line) => !lines.some((each) => each.id === line.id));
          return (
            <>
              <p role="status">{plural(lines.length, "line")}, {block.length.toLocaleString("en")} characters, mode {mode}, recalls {data?.scope.recall === "space" ? "the board" : "this session alone"}: {added.size} new, {gone.length} no longer shown.</p>
              {lines.length > 0 && <RecalledLines lines={lines} added={added} />}
              {gone.length > 0 && <div><h4 className="note">No longer shown</h4><ul className="border-t border-rule">{gone.map((line) => <li key={line.id} className="border-b border-rule py-1 text-soft line-through">{line.text || line.id}</li>)}</ul></div>}
              {data && <LeftOut omitted={data.omitted} degraded={data.degraded} />}
              {block !== "" && <details><summary className="note underline">The block as it would be sent</summary><pre tabIndex={0} className="code wrap mt-1">{block}</pre></details>}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

function Form({ asked, onAsk }: { asked: Asked; onAsk: (asked: Asked) => void }) {
  const [q, setQ] = useState(asked.q ?? "");
  const send = (event: FormEvent) => {
    event.preventDefault();
    onAsk({ ...asked, q: q.trim() || undefined });
  };
  return (
    <form onSubmit={send} className="flex flex-wrap items-center gap-2">
      <input aria-label="Question" value={q} onChange={(event) => setQ(event.target.value)} placeholder="Another question" className="field min-w-0 grow basis-64" />
      <Select name="Depth" value={asked.depth ?? ""} options={DEPTHS} onChange={(depth) => onAsk({ ...asked, depth: depth || undefined })} />
      <Select name="Recall" value={asked.recall ?? ""} options={RECALLS} onChange={(recall) => onAsk({ ...asked, recall: recall === "own" || recall === "space" ? recall : undefined })} />
      <Select name="Size" value={String(asked.size ?? "")} options={[{ value: "", label: "Size as set" }, ...SIZES]} onChange={(size) => onAsk({ ...asked, size: Number(size) || undefined })} />
      <Button type="submit" weight="main">Ask</Button>
    </form>
  );
}
