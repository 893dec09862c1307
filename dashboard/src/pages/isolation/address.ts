// What the address of Isolation says: which sessions are listed, and whether the rules are shown.

export type IsolationSearch = { q?: string; recall?: "own" | "space"; machine?: "1" };

export const isolationSearch = (raw: Record<string, unknown>): IsolationSearch => ({
  q: raw["q"] === undefined || raw["q"] === "" ? undefined : String(raw["q"]),
  recall: raw["recall"] === "own" || raw["recall"] === "space" ? raw["recall"] : undefined,
  machine: raw["machine"] === undefined ? undefined : "1",
});
