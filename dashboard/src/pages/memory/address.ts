// What the address of Memory says: whose memory, what is looked for in it, of which type, and what is open.

import { oneOf, type Raw, textIn } from "../../data/address";

export const TYPES = ["decision", "constraint", "failure", "fix", "preference", "fact", "task_state", "result"] as const;
export type MemoryType = (typeof TYPES)[number];

/** `session` names a session by its key: the chain of its scopes, narrowest first. Without it `scope` says which one. */
export type MemorySearch = { scope?: string; session?: string; q?: string; type?: MemoryType; peek?: string; add?: "1" };

export const memorySearch = (raw: Raw): MemorySearch => ({
  scope: textIn(raw, "scope"),
  session: textIn(raw, "session"),
  q: textIn(raw, "q"),
  type: oneOf(raw, "type", TYPES),
  peek: textIn(raw, "peek"),
  add: oneOf(raw, "add", ["1"]),
});

export const GLOBAL = "global";
