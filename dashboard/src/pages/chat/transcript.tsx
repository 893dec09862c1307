// The transcript: follows its end until one scrolls away, and comes back to where one was.

import { type ReactNode, startTransition, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../ui/button";
import type { Item } from "./items";
import { keep, kept } from "./kept";
import { type Acts, Row } from "./rows";

const NEAR_THE_END_PX = 120;
const BY_PERSON_MS = 800;
// More than a window shows. The page can be used once these are drawn; the others follow, a few at a time.
const FIRST_ROWS = 30;

type Props = { sessionKey: string; items: Item[]; agent: string; acts: Acts; older: ReactNode; sent: number };

/** `sent` counts the messages written here: each leads back to the end. */
export function Transcript({ sessionKey, items, agent, acts, older, sent }: Props) {
  const log = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const top = useRef(kept(sessionKey).top);
  const [behind, setBehind] = useState(false);
  // Whoever comes back to where they were needs everything above it at once.
  const [whole, setWhole] = useState(top.current !== undefined);
  const isDrawn = items.length > 0;
  const last = useRef("");
  const touched = useRef(0);
  const height = useRef(0);
  const before = useRef({ first: "", tall: 0 });

  const follow = () => {
    const element = log.current;
    if (element === null) return;
    element.scrollTop = top.current ?? element.scrollHeight;
  };
  const toEnd = () => {
    top.current = undefined;
    keep(sessionKey, { top: undefined });
    setBehind(false);
    follow();
  };

  useLayoutEffect(() => {
    const first = items[0]?.key ?? "";
    const tall = log.current?.scrollHeight ?? 0;
    // Older messages came in above: what one reads stays where it is.
    const isOlder = before.current.first !== "" && first !== before.current.first && items.some((item) => item.key === before.current.first);
    if (isOlder) top.current = (log.current?.scrollTop ?? 0) + tall - before.current.tall;
    before.current = { first, tall };
    follow();
    const newest = items.at(-1);
    const now = `${newest?.key}/${newest?.kind === "speaking" ? newest.text.length : 0}`;
    if (top.current !== undefined && last.current !== "" && now !== last.current) setBehind(true);
    last.current = now;
  });
  useEffect(() => {
    if (isDrawn) startTransition(() => setWhole(true));
  }, [isDrawn]);
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent]);
  useEffect(() => {
    const resizing = new ResizeObserver(follow);
    for (const each of [log.current, list.current]) if (each !== null) resizing.observe(each);
    return () => resizing.disconnect();
  }, []);

  function scrolled() {
    const element = log.current;
    if (element === null) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const atEnd = scrollHeight - scrollTop - clientHeight < NEAR_THE_END_PX;
    // Rows that are drawn for the first time change the height, which also scrolls; only a person leaves the place.
    const byPerson = Date.now() - touched.current < BY_PERSON_MS || scrollHeight === height.current;
    height.current = scrollHeight;
    if (!byPerson) return follow();
    top.current = atEnd ? undefined : scrollTop;
    keep(sessionKey, { top: top.current });
    if (atEnd) setBehind(false);
  }
  const touch = () => {
    touched.current = Date.now();
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={log} role="log" aria-label="Transcript" tabIndex={0} onScroll={scrolled} onWheel={touch} onTouchMove={touch} onPointerDown={touch} onKeyDown={touch} onFocus={touch} className="h-full overflow-y-auto overscroll-contain py-4 pr-3 pl-0.5 [overflow-anchor:none]">
        {older}
        <div ref={list} className="grid grid-cols-[minmax(0,1fr)] gap-[1.15rem]">
          {(whole ? items : items.slice(-FIRST_ROWS)).map((item) => <Row key={item.key} item={item} agent={agent} acts={acts} />)}
        </div>
      </div>
      {behind && <Button className="absolute bottom-2.5 left-1/2 -translate-x-1/2 shadow-leaf" onClick={toEnd}>New text below</Button>}
    </div>
  );
}
