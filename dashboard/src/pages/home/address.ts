// What the address of Home says: the open peek, the kind that is shown, and whether machine-made things are.

export type HomeSearch = { peek?: string; kind?: string };

export const homeSearch = (raw: Record<string, unknown>): HomeSearch => ({
  peek: raw["peek"] === undefined ? undefined : String(raw["peek"]),
  kind: raw["kind"] === undefined ? undefined : String(raw["kind"]),
});
