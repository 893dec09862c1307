// What the address of Goals says: which session is looked at, and which task is open.

/** `all` lists sessions without goals and plans as well. */
export type GoalsSearch = { session?: string; all?: "1"; peek?: string; tab?: string };

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));

export const goalsSearch = (raw: Record<string, unknown>): GoalsSearch => ({
  session: text(raw["session"]),
  all: raw["all"] === undefined ? undefined : "1",
  peek: text(raw["peek"]),
  tab: text(raw["tab"]),
});
