// Keyboard shortcuts: pages say which keys do what, one listener hears them, and the dialog behind `?` lists them.

import { type RefObject, useEffect, useRef } from "react";

export type Shortcut = {
  /** One key as `KeyboardEvent.key` names it ("j", "?", "Escape"), two in a row ("g b"), or with Ctrl or Cmd ("mod+k"). */
  keys: string;
  /** What it does, for the list; a shortcut without words is not listed. */
  does?: string;
  run: (event: KeyboardEvent) => void;
};

const SEQUENCE_MS = 1_000;
const registered = new Set<() => Shortcut[]>();
let prefix = "";
let prefixAt = 0;

/** Return every shortcut that works now. */
export const currentShortcuts = (): Shortcut[] => [...registered].flatMap((each) => each());

/** Listen for these keys while the component is on the page; those of later components win. */
export function useShortcuts(shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const get = () => latest.current;
    registered.add(get);
    return () => void registered.delete(get);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select"));
}

function isCovered(target: EventTarget | null): boolean {
  const dialog = document.querySelector("[role=dialog], [role=menu]");
  return dialog !== null && !(target instanceof Node && dialog.contains(target) && dialog.hasAttribute("data-peek"));
}

function heard(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const modified = event.ctrlKey || event.metaKey;
  if (!modified && (isTyping(event.target) || isCovered(event.target))) return;
  const key = modified ? `mod+${event.key.toLowerCase()}` : event.key;
  const sequence = prefix !== "" && event.timeStamp - prefixAt < SEQUENCE_MS ? `${prefix} ${key}` : key;
  const all = currentShortcuts().reverse();
  const found = all.find((each) => each.keys === sequence) ?? all.find((each) => each.keys === key);
  prefix = found === undefined && all.some((each) => each.keys.startsWith(`${key} `)) ? key : "";
  prefixAt = event.timeStamp;
  if (found === undefined) return;
  event.preventDefault();
  found.run(event);
}

window.addEventListener("keydown", heard);

const ROWS = "[data-row]";

/** Let `j` and `k` move the focus through the elements marked `data-row` inside `list`; Enter does what a click does. */
export function useRowKeys(list: RefObject<HTMLElement | null>): void {
  const move = (by: number) => () => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(ROWS) ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement) || row === document.activeElement);
    const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  useShortcuts([
    { keys: "j", does: "Next row", run: move(1) },
    { keys: "k", does: "Previous row", run: move(-1) },
  ]);
}
