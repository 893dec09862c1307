// What the address of a task says: which part of it is shown.

export const TABS = { thread: "Thread", work: "Runs and sessions", activity: "Activity" } as const;
export type Tab = keyof typeof TABS;

export const tabOf = (value: unknown): Tab => (Object.keys(TABS) as Tab[]).find((tab) => tab === value) ?? "thread";

export type TaskSearch = { tab?: string };

export const taskSearch = (raw: Record<string, unknown>): TaskSearch => ({ tab: raw["tab"] === undefined ? undefined : tabOf(raw["tab"]) });
