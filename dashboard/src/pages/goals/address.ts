// What the address of Goals says: which session is looked at, and which task is open.

export type GoalsSearch = { session?: string; peek?: string; tab?: string };

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));

export const goalsSearch = (raw: Record<string, unknown>): GoalsSearch => ({
  session: text(raw["session"]),
  peek: text(raw["peek"]),
  tab: text(raw["tab"]),
});
