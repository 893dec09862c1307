// What a search found, by kind, with what each hit owes to its words and to its meaning.

import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Shapes } from "../../data/api";
import { capital, nameOfKey, plural } from "../../data/words";
import { Age } from "../../ui/age";
import { useAgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Empty } from "../../ui/empty";
import { Options } from "../../ui/form";
import { Highlight } from "../../ui/highlight";
import { Ident } from "../../ui/ident";
import { useRowKeys } from "../../ui/keys";
import { Markdown } from "../../ui/markdown";
import { Meter } from "../../ui/meter";
import { useOpened } from "../../ui/opened";
import { Peek } from "../../ui/peek";
import { toast } from "../../ui/toast";
import { KINDS, type Kind, type SearchSearch } from "./address";

type Found = Shapes["SearchShape"];
type Hit = {
  id: string; kind: Kind; title: string; text: string; facts: (string | null)[]; at: string; score: number; reason: Shapes["HitReason"];
  taskId?: string | null; sessionKey?: string | null;
};

const SNIPPET_CHARS = 220;
const TITLE_CHARS = 110;
const NAMES: Record<Kind, string> = { topics: "Topics", tasks: "Tasks", notes: "Notes", logs: "Said" };

function hitsOf(found: Found, nameOf: (id: string | null) => string): Record<Kind, Hit[]> {
  const log = (kind: Kind) => (each: Shapes["LogHit"]): Hit => ({
    ...each, kind, title: each.summary || each.content, text: each.summary ? each.content : "", at: each.createdAt,
    facts: [each.role === "user" ? "A person" : (each.agentLabel ?? nameOf(each.agentId)), each.sessionKey && nameOfKey(each.sessionKey)],
  });
  return {
    topics: found.topics.map((each) => ({ ...each, kind: "topics", title: each.name, text: each.digest || each.description, facts: [capital(each.status)], at: each.updatedAt })),
    tasks: found.tasks.map((each) => ({ ...each, kind: "tasks", text: each.digest || each.description, facts: [capital(each.status.replaceAll("_", " "))], at: each.updatedAt, taskId: each.id })),
    notes: found.notes.map(log("notes")),
    logs: found.logs.map(log("logs")),
  };
}

type Props = { found: Found; search: SearchSearch; set: (change: SearchSearch, replace?: boolean) => void; stale: boolean };

export function Hits({ found, search, set, stale }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list);
  const hits = hitsOf(found, useAgentName());
  const all = KINDS.flatMap((kind) => hits[kind]);
  const open = useOpened(all, ({ id }, wanted) => id === wanted, { wanted: search.peek, queryKey: ["search"], gone: "What was open is not among these hits any more.", forget: () => set({ peek: undefined }, true) });
  const shown = KINDS.filter((kind) => hits[kind].length > 0 && (search.kind === undefined || search.kind === kind));
  const chips = [{ value: "", label: `All ${all.length}` }, ...KINDS.map((kind) => ({ value: kind, label: `${NAMES[kind]} ${hits[kind].length}` }))];
  return (
    <div aria-busy={stale} className={stale ? "opacity-60" : ""}>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 pt-4">
        <Options name="Kind of hit" options={chips} value={search.kind ?? ""} onChange={(kind) => set({ kind: KINDS.find((each) => each === kind) })} />
        <p className="note" role="status">
          {plural(all.length, "hit")} in {found.searchMeta.durationMs.toFixed(0)} ms{found.mode === "lexical" && " · by words alone: meanings are not compared on this server"}
        </p>
      </div>
      {shown.length === 0 && <Empty title={`Nothing was found for “${found.query}”.`}><p>Try fewer or other words, another kind, or every space.</p></Empty>}
      <div ref={list}>
        {shown.map((kind) => (
          <section key={kind} aria-label={NAMES[kind]} className="pt-5">
            <h2 className="border-b border-rule pb-1 text-xl">{NAMES[kind]} <span className="note">{hits[kind].length}</span></h2>
            <ul>{hits[kind].map((hit) => <Row key={hit.id} hit={hit} q={found.query} open={hit.id === search.peek} onOpen={() => set({ peek: hit.id })} />)}</ul>
          </section>
        ))}
      </div>
      {open && <Peek title={cutTitle(open.title)} onClose={() => set({ peek: undefined })}><About hit={open} q={found.query} onClose={() => set({ peek: undefined })} /></Peek>}
    </div>
  );
}

const cutTitle = (title: string) => (title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS)}…` : title);

function Row({ hit, q, open, onOpen }: { hit: Hit; q: string; open: boolean; onOpen: () => void }) {
  return (
    <li className="border-b border-rule">
      <button
        type="button" data-row="" aria-current={open || undefined} onClick={onOpen}
        className="grid w-full cursor-pointer gap-x-8 gap-y-1 py-2 text-left hover:bg-green-wash/50 aria-[current]:bg-green-wash md:grid-cols-[minmax(0,1fr)_13rem]"
      >
        <span className="min-w-0">
          <span className="block font-medium"><Highlight text={hit.title} query={q} most={TITLE_CHARS} /></span>
          {hit.text && <span className="block text-sm text-soft"><Highlight text={hit.text} query={q} most={SNIPPET_CHARS} /></span>}
          <span className="note block"><Facts hit={hit} /></span>
        </span>
        <span className="grid content-start gap-1 pt-1"><Meter name="Words" value={hit.reason.words} /><Meter name="Meaning" value={hit.reason.meaning} tone="brass" /></span>
      </button>
    </li>
  );
}

function Facts({ hit }: { hit: Hit }) {
  return <>{hit.facts.filter(Boolean).join(" · ")}{hit.facts.some(Boolean) && " · "}<Age at={hit.at} ago /></>;
}

const BARS = { words: "Words", meaning: "Meaning", label: "Name", note: "Note", session: "Nearby" } as const;

function About({ hit, q, onClose }: { hit: Hit; q: string; onClose: () => void }) {
  const [asking, setAsking] = useState(false);
  const remove = useAction({
    act: () => ask(api.DELETE("/api/log/{id}", { params: { path: { id: hit.id } } })),
    failed: "The entry was not deleted",
    stale: () => [["search"]],
    done: () => void toast({ text: "Deleted. Nobody finds it any more." }),
  });
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <p className="note"><Facts hit={hit} /></p>
      <div className="flex flex-wrap gap-2">
        {hit.taskId && <Link className="button quiet" to="/tasks/$id" params={{ id: hit.taskId }}>Open the task</Link>}
        {hit.sessionKey && <Link className="button quiet" to="/chat/$" params={{ _splat: hit.sessionKey }}>Open the chat</Link>}
        {(hit.kind === "logs" || hit.kind === "notes") && <Button weight="danger" className="ml-auto" onClick={() => setAsking(true)}>Delete</Button>}
      </div>
      {asking && <Confirm title="Delete this entry?" about="It is found and shown to agents no more. Runs that were shown it keep it in their receipts." does="Delete" onDo={() => { onClose(); remove.mutate(); }} onClose={() => setAsking(false)} />}
      <section aria-label="Why it was found" className="grid gap-1.5">
        <h3 className="text-base">Why “{q}” found it</h3>
        {(Object.keys(BARS) as (keyof typeof BARS)[]).map((name) => <Meter key={name} name={BARS[name]} value={hit.reason[name]} tone={name === "meaning" ? "brass" : "green"} />)}
        <p className="note">Together {hit.score.toFixed(2)} of 1.</p>
      </section>
      <Markdown text={hit.text || hit.title} />
      <Ident text={hit.id} />
    </div>
  );
}
