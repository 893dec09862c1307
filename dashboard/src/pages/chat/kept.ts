// What this tab keeps of a chat while one looks elsewhere or reloads: the unsent text and the place in the transcript.

import { currentIdentity } from "../../data/identity";

export type Kept = {
  text?: string;
  /** The run that the text answers, or null. */
  answers?: string | null;
  /** Where the transcript was scrolled to; missing while it follows the end. */
  top?: number;
};

// Somebody else who signs in on this tab finds nothing of it.
function nameOf(key: string): string {
  const identity = currentIdentity();
  return `carrel.chat.${identity.stage === "in" ? identity.me.actor.id : ""}.${key}`;
}

export function kept(key: string): Kept {
  try {
    return JSON.parse(sessionStorage.getItem(nameOf(key)) ?? "{}") as Kept;
  } catch {
    return {};
  }
}

export function keep(key: string, change: Kept): void {
  try {
    sessionStorage.setItem(nameOf(key), JSON.stringify({ ...kept(key), ...change }));
  } catch {
    // Without storage the text lasts as long as the page.
  }
}
