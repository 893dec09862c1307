// Home: what needs me? One list of everything that waits for a person, then what happened and who is at work.

import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { cache } from "../../data/cache";
import { useHeld } from "../../data/held";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { ErrorState } from "../../ui/failure";
import { useRowKeys, useShortcuts } from "../../ui/keys";
import { useOpened } from "../../ui/opened";
import { ReceiptDialog } from "../../ui/receipt";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import { type Acts, useActs } from "./acts";
import type { HomeSearch } from "./address";
import { NeedPeek } from "./detail";
import { useDismissed } from "./dismissed";
import { type HomeData, KIND_NAMES, KINDS, type Kind, type Need, useHome } from "./needs";
import { NeedRow } from "./row";
import { Since } from "./since";
import { Working } from "./working";

const SHOWN_FIRST = 40;

export function Home() {
  const home = useHome();
  const { peek, receipt, kind } = useSearch({ from: "/" });
  const navigate = useNavigate();
  const dismissed = useDismissed();
  const setSearch = (change: HomeSearch, replace = false) => void navigate({ to: "/", search: (now) => ({ ...now, ...change }), replace });
  const acts = useActs(() => setSearch({ peek: undefined }));
  const held = useHeld();
  const needs = home.needs.filter((need) => !dismissed.has(need.id) && !held.has(need.run?.id ?? ""));
  const open = useOpened(needs, ({ id }, wanted) => id === wanted, { wanted: home.isReady ? peek : undefined, queryKey: [], gone: "What was open needs nobody any more.", forget: () => setSearch({ peek: undefined }, true) });
  const isNew = home.isReady && !home.hasSessions && needs.length === 0;
  return (
    <div className="pb-16">
      <Title name="Home" count={needs.length} actions={<Figures home={home} needs={needs} />} />
      {home.error && (home.isReady
        ? <p role="alert" className="complaint py-2">This page may be out of date: {home.error.message}</p>
        : <ErrorState error={home.error} retry={() => void cache.refetchQueries({ type: "active" })} />)}
      {!home.isReady && home.error === null && <div className="pt-6"><SkeletonRows /></div>}
      {isNew && <Beginning />}
      {home.isReady && !isNew && (
        <>
          <Needs needs={needs} kind={KINDS.find((each) => each === kind)} open={open} acts={acts} setSearch={setSearch} />
          <div className="mt-10 grid gap-x-12 gap-y-10 xl:grid-cols-2">
            <Working running={home.running} queued={home.queued} />
            <Since recent={home.recent} />
          </div>
        </>
      )}
      {open && <NeedPeek key={open.id} need={open} acts={acts} onClose={() => setSearch({ peek: undefined })} onReceipt={(id) => setSearch({ receipt: id })} />}
      <ReceiptDialog runId={receipt} onClose={() => setSearch({ receipt: undefined })} />
    </div>
  );
}

function Figures({ home, needs }: { home: HomeData; needs: Need[] }) {
  if (!home.isReady) return null;
  const waiting = needs.filter((need) => need.kind === "approval" || need.kind === "question").length;
  const failed = needs.filter((need) => need.kind === "failed").length;
  const figures: [string, number, string][] = [
    ["at work", home.running.length, "text-green"],
    ["queued", home.queued.length, "text-ink"],
    ["waiting for you", waiting, "text-brass"],
    ["failed", failed, "text-red"],
  ];
  if (home.programs > 0) figures.push(["waiting for a program", home.programs, "text-ink"]);
  return (
    <dl aria-label="Counts" className="flex flex-wrap gap-x-6 gap-y-1">
      {figures.map(([name, count, ink]) => (
        <div key={name} className="flex items-baseline gap-1.5"><dd className={`font-serif text-xl ${count > 0 ? ink : "text-soft"}`}>{count}</dd><dt className="note">{name}</dt></div>
      ))}
    </dl>
  );
}

type NeedsProps = { needs: Need[]; kind: Kind | undefined; open: Need | undefined; acts: Acts; setSearch: (change: HomeSearch) => void };

function Needs({ needs, kind, open, acts, setSearch }: NeedsProps) {
  const list = useRef<HTMLUListElement>(null);
  const [all, setAll] = useState(false);
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  useRowKeys(list);
  useShortcuts([{ keys: "x", does: "Choose the row", run: () => {} }]);
  const listed = kind === undefined ? needs : needs.filter((need) => need.kind === kind);
  const shown = all ? listed : listed.slice(0, SHOWN_FIRST);
  const chosen = listed.filter((need) => ids.has(need.id));
  const choose = (id: string) => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setIds(next);
  };
  return (
    <section aria-label="Needs you" className="pt-4">
      {needs.length === 0 ? <p className="py-4 font-serif text-lg text-soft italic">Nothing needs you.</p> : (
        <>
          <div className="mb-2 flex min-h-9 flex-wrap items-center gap-1.5">
            <Chip name="All" count={needs.length} isOn={kind === undefined} onClick={() => setSearch({ kind: undefined })} />
            {KINDS.map((each) => {
              const count = needs.filter((need) => need.kind === each).length;
              return count > 0 && <Chip key={each} name={KIND_NAMES[each][1]} count={count} isOn={each === kind} onClick={() => setSearch({ kind: each })} />;
            })}
            <Bulk chosen={chosen} kind={kind} listed={listed} acts={acts} clear={() => setIds(new Set())} chooseAll={() => setIds(new Set(listed.map((need) => need.id)))} />
          </div>
          <ul ref={list} aria-label="What needs you" className="border-t border-rule">
            {shown.map((need) => (
              <NeedRow
                key={need.id} need={need} acts={acts} isOpen={need === open} isChosen={ids.has(need.id)}
                onOpen={() => setSearch({ peek: need.id })} onChoose={() => choose(need.id)}
              />
            ))}
          </ul>
          {listed.length > shown.length && <Button className="mt-3" onClick={() => setAll(true)}>Show all {listed.length}</Button>}
        </>
      )}
    </section>
  );
}

function Chip({ name, count, isOn, onClick }: { name: string; count: number; isOn: boolean; onClick: () => void }) {
  return (
    <button type="button" aria-pressed={isOn} onClick={onClick} className="rounded-full border border-rule px-2.5 py-0.5 text-[0.8125rem] text-soft hover:border-edge aria-pressed:border-green aria-pressed:bg-green-wash aria-pressed:text-ink">
      {name} <span className="font-semibold">{count}</span>
    </button>
  );
}

type BulkProps = { chosen: Need[]; listed: Need[]; kind: Kind | undefined; acts: Acts; clear: () => void; chooseAll: () => void };

/** What can be done with all that are chosen, or with all of the kind that is listed. */
function Bulk({ chosen, listed, kind, acts, clear, chooseAll }: BulkProps) {
  const about = chosen.length > 0 ? chosen : kind === undefined ? [] : listed;
  const name = chosen.length > 0 ? `${chosen.length} chosen` : "all";
  const retried = about.filter((need) => need.kind === "failed" || need.kind === "undelivered");
  const put = about.filter((need) => !["approval", "question", "review", "loop", "budget"].includes(need.kind));
  if (about.length === 0) return null;
  return (
    <span className="ml-auto flex flex-wrap items-center gap-1.5">
      {chosen.length > 0 && <span className="note" role="status">{plural(chosen.length, "row")} chosen</span>}
      {retried.length > 0 && <Button small busy={acts.retry.isPending} onClick={() => { acts.retry.mutate(retried); clear(); }}>Retry {name}</Button>}
      {put.length > 0 && <Button small onClick={() => { acts.putAside(put); clear(); }}>Dismiss {name}</Button>}
      {chosen.length < listed.length && <Button small weight="plain" onClick={chooseAll}>Choose all</Button>}
      {chosen.length > 0 && <Button small weight="plain" onClick={clear}>Clear</Button>}
    </span>
  );
}

function Beginning() {
  const request = `curl ${location.origin}/api/runs \\\n  -H "Authorization: Bearer $CARREL_TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"message": "Hello"}'`;
  return (
    <Empty title="No conversations yet.">
      <p>Send an agent its first message: here, from a terminal or from a program. What needs you appears on this page, live.</p>
      <Link to="/chat" className="button main">Start a chat</Link>
      <h2 className="mt-3 text-base text-ink">In a terminal</h2>
      <pre tabIndex={0} className="code w-full text-ink">carrel send main "Hello"</pre>
      <h2 className="mt-3 text-base text-ink">From a program</h2>
      <pre tabIndex={0} className="code w-full text-ink">{request}</pre>
    </Empty>
  );
}
