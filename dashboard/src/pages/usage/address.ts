// What the address of Usage says: how many days, summed up by what, and of what alone.

import { oneOf, type Raw, textIn } from "../../data/address";

export const GROUPS = ["agent", "model", "task", "session"] as const;
export type Group = (typeof GROUPS)[number];
export const SPANS = ["7", "30", "90"] as const;

export type UsageSearch = { days?: (typeof SPANS)[number]; by?: Group; agent?: string; model?: string; task?: string; session?: string };

export const usageSearch = (raw: Raw): UsageSearch => ({
  days: oneOf(raw, "days", SPANS),
  by: oneOf(raw, "by", GROUPS),
  agent: textIn(raw, "agent"),
  model: textIn(raw, "model"),
  task: textIn(raw, "task"),
  session: textIn(raw, "session"),
});
