// Search: where is something, and what would an agent be shown of it?

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useRef } from "react";
import { api, ask } from "../../data/api";
import { sessionsQuery } from "../../data/queries";
import { spacesQuery } from "../../data/places";
import { nameOfKey, titleOfSession } from "../../data/words";
import { useAgentName } from "../../ui/agent";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Choose, Options } from "../../ui/form";
import { useShortcuts } from "../../ui/keys";
import { Seek } from "../../ui/seek";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import type { SearchSearch } from "./address";
import { Block } from "./block";
import { Hits } from "./hits";

const PLACES_MOST = 100;

const foundQuery = ({ q = "", space, session }: SearchSearch) => queryOptions({
  queryKey: ["search", q, space, session, "all"],
  queryFn: ({ signal }) => ask(api.GET("/api/search", { params: { query: { q, spaceId: space, sessionKey: session } }, signal })),
  enabled: q.trim() !== "",
  placeholderData: keepPreviousData,
});

export function Search() {
  const search = useSearch({ from: "/search" });
  const navigate = useNavigate({ from: "/search" });
  const box = useRef<HTMLInputElement>(null);
  const set = useCallback(
    (change: SearchSearch, replace = !("view" in change || "peek" in change)) => void navigate({ search: (before) => ({ ...before, peek: undefined, ...change }), replace }),
    [navigate],
  );
  const seek = useCallback((q: string) => set({ q: q.trim() === "" ? undefined : q }), [set]);
  const spaces = useQuery(spacesQuery());
  const sessions = useQuery(sessionsQuery({ limit: PLACES_MOST }, 1));
  const found = useQuery(foundQuery(search));
  const agentName = useAgentName();
  useShortcuts([{ keys: "/", does: "Write a question", run: () => box.current?.focus() }]);
  const places = (sessions.data?.rows ?? []).map((row) => ({ value: row.key, label: `Seen from ${titleOfSession(row)} · ${agentName(row.agentSlug)}` }));
  if (search.session && !places.some(({ value }) => value === search.session)) places.push({ value: search.session, label: `Seen from ${nameOfKey(search.session)}` });
  return (
    <>
      <Title name="Search" keepFocus />
      <div className="grid gap-3 border-b border-rule py-4">
        <Seek ref={box} name="Search everything" placeholder="Search topics, tasks, notes and what was said…" value={search.q ?? ""} onSeek={seek} autoFocus large />
        <div className="flex flex-wrap items-center gap-3">
          <Options
            name="What to show" value={search.view ?? "hits"} onChange={(view) => set({ view: view === "block" ? "block" : undefined })}
            options={[{ value: "hits", label: "Hits" }, { value: "block", label: "Context block" }]}
          />
          <Choose
            label="Space" bare className="max-sm:w-full sm:w-44" value={search.space ?? ""} onChange={(event) => set({ space: event.target.value })}
            options={[{ value: "", label: "Every space" }, ...(spaces.data?.rows ?? []).map(({ id, name }) => ({ value: id, label: name }))]}
          />
          <Choose
            label="As seen from" bare className="max-sm:w-full sm:w-72" value={search.session ?? ""} onChange={(event) => set({ session: event.target.value })}
            options={[{ value: "", label: "Seen by you" }, ...places]}
          />
        </div>
      </div>
      {search.view === "block" ? <Block search={search} set={set} /> : (search.q ?? "").trim() === "" ? <Start /> : (
        <Loaded query={found} waiting={<SkeletonRows />}>{(data) => <Hits found={data} search={search} set={set} stale={found.isPlaceholderData} />}</Loaded>
      )}
    </>
  );
}

function Start() {
  return (
    <Empty title="What are you looking for?">
      <p>Words and meaning both count: “grease the belt” finds “oil the conveyor”. Each hit shows how much either weighed.</p>
      <p><strong>Context block</strong> shows what an agent would be given for the same question, without running anything.</p>
    </Empty>
  );
}
