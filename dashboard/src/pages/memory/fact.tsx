// One memory beside the list: what it says, where it comes from, who was shown it; promote it, forget it.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { cache } from "../../data/cache";
import { splitKey } from "../../data/words";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Dialog } from "../../ui/dialog";
import { Loaded } from "../../ui/failure";
import { TextArea } from "../../ui/form";
import { Ident } from "../../ui/ident";
import { Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import { toast } from "../../ui/toast";
import { GLOBAL } from "./address";
import { EditMemory } from "./edit";
import { isTitled, typeName } from "./memory";
import { type Item, type Read, readsQuery } from "./queries";

const REASON_CHARS_MAX = 500;

type Props = { item: Item; nameOf: (scope: string) => string; onClose: () => void };

export function Fact({ item, nameOf, onClose }: Props) {
  const [asking, setAsking] = useState<"edit" | "promote" | "forget" | null>(null);
  const forget = useAction({
    act: () => ask(api.DELETE("/api/memory/{id}", { params: { path: { id: item.id } } })),
    failed: "The memory was not forgotten",
    optimistic: {
      keys: () => [["memory"]],
      change: () => cache.setQueriesData<Read>({ queryKey: ["memory"], predicate: ({ queryKey }) => queryKey.length === 2 }, (page) => page && { ...page, items: page.items.filter(({ id }) => id !== item.id) }),
    },
    done: () => toast({ text: "Forgotten. No run is shown it any more." }),
  });
  return (
    <Peek
      title={isTitled(item) ? item.title : typeName(item.type)} onClose={onClose}
      actions={<>
        <Button small onClick={() => setAsking("edit")}>Edit</Button>
        {item.scope !== GLOBAL && <Button small onClick={() => setAsking("promote")}>Promote</Button>}
        <Button small weight="danger" onClick={() => setAsking("forget")}>Forget</Button>
      </>}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Markdown text={item.content} />
        <dl className="grid grid-cols-[7rem_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm [&_dt]:text-soft">
          <dt>Type</dt><dd>{typeName(item.type)}</dd>
          <dt>Kept for</dt><dd>{nameOf(item.scope)}</dd>
          <dt>Kept</dt><dd><Age at={item.createdAt} ago /> by <AgentName id={item.createdBy} /></dd>
          {item.tags.length > 0 && <><dt>Tags</dt><dd>{item.tags.join(", ")}</dd></>}
          <dt>Confidence</dt><dd>{item.confidence.toFixed(2)}</dd>
          {item.expiresAt && <><dt>Until</dt><dd>{new Date(item.expiresAt).toLocaleString()}</dd></>}
          {item.promotedFrom && <><dt>Promoted from</dt><dd><Ident text={item.promotedFrom} /></dd></>}
          {item.source.runId && <><dt>Learned in</dt><dd><Ident text={item.source.runId} what="run id" /></dd></>}
          <dt>Id</dt><dd><Ident text={item.id} /></dd>
        </dl>
        <Reads id={item.id} nameOf={nameOf} />
      </div>
      {asking === "edit" && <EditMemory item={item} onClose={() => setAsking(null)} />}
      {asking === "promote" && <Promote item={item} onClose={() => setAsking(null)} />}
      {asking === "forget" && (
        <Confirm title="Forget this memory?" about="It is removed for good. Runs that were shown it keep it in their receipts." does="Forget it" onDo={() => { onClose(); forget.mutate(); }} onClose={() => setAsking(null)} />
      )}
    </Peek>
  );
}

function Reads({ id, nameOf }: { id: string; nameOf: Props["nameOf"] }) {
  return (
    <section aria-label="Who was shown it">
      <h3 className="border-b border-rule pb-1 text-base">Who was shown it</h3>
      <Loaded query={useQuery(readsQuery(id))}>
        {({ reads }) => reads.length === 0 ? <p className="note py-2">No run was shown it yet.</p> : (
          <ul>
            {reads.map((read) => (
              <li key={read.runId} className="flex items-baseline justify-between gap-3 border-b border-rule py-1.5 text-sm">
                <Link to="/chat/$" params={{ _splat: read.sessionKey }} search={{ receipt: read.runId }} className="min-w-0 truncate underline">{nameOf(read.sessionKey)}</Link>
                <span className="note shrink-0"><AgentName id={splitKey(read.sessionKey).agent} /> · <Age at={read.at} ago /></span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function Promote({ item, onClose }: { item: Item; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const promote = useAction({
    act: () => ask(api.POST("/api/memory/{id}/promote", { params: { path: { id: item.id } }, body: { reason } })),
    failed: "The memory was not promoted",
    stale: () => [["memory"]],
    done: () => {
      toast({ text: "Every agent knows this from now on." });
      onClose();
    },
    quiet: true,
  });
  return (
    <Dialog open title="Promote to everyone" about="Every session of every agent may be shown it from then on." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (reason.trim()) promote.mutate(); }}>
        <blockquote className="border-l-[3px] border-rule pl-3 text-soft">{item.content}</blockquote>
        <TextArea label="Why should every agent know it?" value={reason} maxLength={REASON_CHARS_MAX} rows={2} autoFocus onChange={(event) => setReason(event.target.value)} complaint={promote.error?.message} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" weight="main" busy={promote.isPending} disabled={!reason.trim()}>Promote</Button>
        </div>
      </form>
    </Dialog>
  );
}
