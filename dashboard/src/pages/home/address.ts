// What the address of Home says: which kind of thing is listed, and what is open beside the list.

export type HomeSearch = { kind?: string; peek?: string; receipt?: string };

const text = (value: unknown): string | undefined => (value === undefined ? undefined : String(value));

export const homeSearch = (raw: Record<string, unknown>): HomeSearch => ({
  kind: text(raw["kind"]),
  peek: text(raw["peek"]),
  receipt: text(raw["receipt"]),
});
