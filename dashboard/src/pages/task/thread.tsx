// The thread of a task: what people and agents say to each other about it, who is writing and who has read it.

import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, type Shapes, type Task } from "../../data/api";
import { type Directory, useDirectory } from "../../data/places";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { ErrorState } from "../../ui/failure";
import { Files } from "../../ui/files";
import { Markdown } from "../../ui/markdown";
import { Composer } from "./composer";
import { threadQuery } from "./data";

type Line = Shapes["ThreadMessage"];

export function Thread({ task }: { task: Task }) {
  const query = useInfiniteQuery(threadQuery(task.id));
  const directory = useDirectory();
  const pages = query.data?.pages ?? [];
  const messages = pages.toReversed().flatMap((page) => page.messages);
  const newest = pages[0];
  useReadMark(task.id, messages.at(-1)?.seq);
  if (query.isError && !query.data) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  return (
    <div className="pt-1">
      {query.hasNextPage && <Button weight="plain" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>Earlier messages</Button>}
      <div role="log" aria-label="Thread">
        {query.isPending && <div className="my-3 h-16 rounded-md bg-rule/25" role="status" aria-label="Loading" />}
        {query.data && messages.length === 0 && <p className="note py-3">Nobody has written yet. A message reaches everyone who is assigned; with @name it reaches others too.</p>}
        {messages.map((message) => <Said key={message.id} message={message} readers={readersOf(message, messages, newest?.seenBy ?? [], directory)} />)}
      </div>
      <Typing typing={newest?.typing ?? []} directory={directory} />
      <Composer task={task} directory={directory} />
    </div>
  );
}

/** Tell the server how far this person has read, once for each new message. */
function useReadMark(id: string, seq: number | undefined): void {
  const told = useRef(0);
  useEffect(() => {
    if (seq === undefined || seq <= told.current || document.visibilityState === "hidden") return;
    told.current = seq;
    api.POST("/api/tasks/{id}/seen", { params: { path: { id } }, body: { seq } }).catch(() => {
      // A mark that was not taken is set with the next message.
      told.current = 0;
    });
  }, [id, seq]);
}

/** Return who has read up to this message and no further. */
function readersOf(message: Line, all: Line[], seenBy: Shapes["Seen"][], { nameOf }: Directory): string[] {
  const next = all[all.indexOf(message) + 1]?.seq ?? Number.POSITIVE_INFINITY;
  return seenBy.filter(({ id, seq }) => seq >= message.seq && seq < next && id !== message.authorId).map(({ id }) => nameOf(id));
}

function Said({ message, readers }: { message: Line; readers: string[] }) {
  return (
    <article aria-label={message.authorName} className="border-b border-rule py-3 last:border-0">
      <p className="mb-1 flex justify-between gap-4"><span className={message.authorKind === "agent" ? "agent" : "text-[0.8125rem] font-semibold"}>{message.authorName}</span><Age at={message.createdAt} ago className="note" /></p>
      <Markdown text={message.content} />
      <Files files={message.attachments} />
      {readers.length > 0 && <p className="note mt-1">Seen by {readers.join(", ")}</p>}
    </article>
  );
}

function Typing({ typing, directory }: { typing: Shapes["Typing"][]; directory: Directory }) {
  const names = [...new Set(typing.map(({ agentId }) => directory.nameOf(agentId)))];
  return (
    <p role="status" aria-label="Typing" className="flex h-7 items-center gap-2 text-sm text-green">
      {names.length > 0 && <><span aria-hidden="true" className="size-2 animate-breathe rounded-full bg-green" />{names.join(", ")} {names.length === 1 ? "is" : "are"} working on an answer<Age at={typing[0]?.since} className="note" /></>}
    </p>
  );
}
