// A transcript that grows at both ends: new lines as they are said, older ones when they are wanted.

import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { tellFailure } from "../../data/action";
import { api, ask, type Message } from "../../data/api";

const NEWEST = 200;
const OLDER = 500;

type Read = { messages: Message[]; cursor: string | null };

const read = (key: string, limit: number, cursor?: string, signal?: AbortSignal) =>
  ask(api.GET("/api/sessions/{key}/history", { params: { path: { key }, query: { limit, cursor, includeTools: true } }, signal }));

/** Return what was read, joined with the newest page; without an overlap too much was said meanwhile, and reading begins anew. */
function joined(known: Read, page: Message[], cursor: string | null): Read {
  const first = page[0];
  const at = first === undefined ? -1 : known.messages.findIndex((message) => message.id === first.id);
  return at === -1 ? { messages: page, cursor } : { messages: [...known.messages.slice(0, at), ...page], cursor: known.cursor };
}

/** Read a transcript; `session` names the lane whose events make it out of date, `key` the generation that is read. */
export function useTranscript(session: string, key: string) {
  const newest = useQuery({ queryKey: ["session", session, "history", key], queryFn: ({ signal }) => read(key, NEWEST, undefined, signal) });
  const [whole, setWhole] = useState<Read>({ messages: [], cursor: null });
  const [isReading, setReading] = useState(false);
  const reading = useRef(false);
  useEffect(() => setWhole({ messages: [], cursor: null }), [key]);
  useEffect(() => {
    const page = newest.data;
    if (page !== undefined) setWhole((known) => joined(known, page.messages, page.nextCursor));
  }, [newest.data]);
  const older = useCallback(async () => {
    if (reading.current || whole.cursor === null) return;
    reading.current = true;
    setReading(true);
    try {
      const page = await read(key, OLDER, whole.cursor);
      setWhole((known) => (known.cursor === whole.cursor ? { messages: [...page.messages, ...known.messages], cursor: page.nextCursor } : known));
    } catch (error) {
      tellFailure("Older messages were not read", error as Error);
    } finally {
      reading.current = false;
      setReading(false);
    }
  }, [key, whole.cursor]);
  return { newest, messages: whole.messages, hasOlder: whole.cursor !== null, isReading, older };
}
