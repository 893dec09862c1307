// How long ago something was. One timer keeps every age on the page current.

import { useSyncExternalStore } from "react";
import { instant, moment, span } from "../data/words";

const EVERY_MS = 1_000;
const JUST_NOW_MS = 5_000;

let now = Date.now();
let timer = 0;
const listeners = new Set<() => void>();

function listen(changed: () => void): () => void {
  listeners.add(changed);
  if (timer === 0) {
    timer = window.setInterval(() => {
      if (document.visibilityState === "hidden") return;
      now = Date.now();
      for (const listener of listeners) listener();
    }, EVERY_MS);
  }
  return () => {
    listeners.delete(changed);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = 0;
  };
}

/** `ago` reads "3 min ago" and "just now"; without it only the span is shown, after `prefix`. */
export function Age({ at, ago = false, prefix = "", className }: { at: string | number | null | undefined; ago?: boolean; prefix?: string; className?: string }) {
  const since = instant(at);
  // The text changes far less often than the clock, so most ticks draw nothing.
  const text = useSyncExternalStore(listen, () => (since === null ? "" : words(Math.max(now, since) - since, ago)));
  if (since === null) return null;
  return (
    // Hundreds of moments in words cost a page a tenth of its start, and one at a time is read.
    <time dateTime={new Date(since).toISOString()} onPointerEnter={({ currentTarget }) => { currentTarget.title = moment(since); }} className={className}>
      {prefix}{text}
    </time>
  );
}

function words(passed: number, ago: boolean): string {
  if (!ago) return span(passed);
  return passed < JUST_NOW_MS ? "just now" : `${span(passed)} ago`;
}
