// What the address of Search says: the question, which kinds are shown, where it is asked, and what is open.

import { oneOf, type Raw, textIn } from "../../data/address";

export const KINDS = ["topics", "tasks", "notes", "logs"] as const;
export type Kind = (typeof KINDS)[number];

export type SearchSearch = { q?: string; kind?: Kind; space?: string; session?: string; view?: "block"; form?: "clawboard"; mode?: string; size?: string; peek?: string };

export const searchSearch = (raw: Raw): SearchSearch => ({
  q: textIn(raw, "q"),
  kind: oneOf(raw, "kind", KINDS),
  space: textIn(raw, "space"),
  session: textIn(raw, "session"),
  view: oneOf(raw, "view", ["block"]),
  form: oneOf(raw, "form", ["clawboard"]),
  mode: oneOf(raw, "mode", ["cheap", "full", "patient"]),
  size: /^\d{1,5}$/.test(String(raw["size"])) ? String(raw["size"]) : undefined,
  peek: textIn(raw, "peek"),
});
