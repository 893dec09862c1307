// What this person put aside on Home, in this browser: failures stay in the journal, but need not be looked at again.

import { useSyncExternalStore } from "react";
import { currentIdentity } from "../../data/identity";

const KEPT_MOST = 1_000;
const listeners = new Set<() => void>();
let read: { name: string; ids: string[] } | null = null;

function nameOf(): string {
  const identity = currentIdentity();
  return `carrel.dismissed.${identity.stage === "in" ? identity.me.actor.id : ""}`;
}

function current(): string[] {
  const name = nameOf();
  if (read?.name !== name) {
    let ids: string[] = [];
    try {
      ids = JSON.parse(localStorage.getItem(name) ?? "[]") as string[];
    } catch {
      // Without storage nothing stays dismissed after a reload.
    }
    read = { name, ids };
  }
  return read.ids;
}

function set(ids: string[]): void {
  read = { name: nameOf(), ids: ids.slice(-KEPT_MOST) };
  try {
    localStorage.setItem(read.name, JSON.stringify(read.ids));
  } catch {
    // It still holds for this page.
  }
  for (const listener of listeners) listener();
}

export const dismiss = (ids: string[]): void => set([...current().filter((id) => !ids.includes(id)), ...ids]);
export const restore = (ids: string[]): void => set(current().filter((id) => !ids.includes(id)));

/** Return the ids of what was put aside. */
export function useDismissed(): Set<string> {
  const ids = useSyncExternalStore((changed) => (listeners.add(changed), () => listeners.delete(changed)), current);
  return new Set(ids);
}
