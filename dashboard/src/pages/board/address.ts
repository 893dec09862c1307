// What the address of the board says: the view, the filters, the open task, and whether a new one is being written.

export type View = "columns" | "list" | "tree";
export const DUE = { overdue: "Overdue", today: "Due today", week: "Due within a week", none: "No due date" } as const;
export type Due = keyof typeof DUE;

export type BoardSearch = {
  view?: View;
  space?: string;
  topic?: string;
  agent?: string;
  person?: string;
  tag?: string;
  due?: Due;
  q?: string;
  /** "no" leaves sub-tasks out. */
  sub?: "no";
  peek?: string;
  tab?: string;
  new?: string;
};

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));
const among = <Word extends string>(value: unknown, words: readonly Word[]): Word | undefined => words.find((word) => word === value);

export const boardSearch = (raw: Record<string, unknown>): BoardSearch => ({
  view: among(raw["view"], ["list", "tree"]),
  space: text(raw["space"]),
  topic: text(raw["topic"]),
  agent: text(raw["agent"]),
  person: text(raw["person"]),
  tag: text(raw["tag"]),
  due: among(raw["due"], Object.keys(DUE) as Due[]),
  q: text(raw["q"]),
  sub: among(raw["sub"], ["no"]),
  peek: text(raw["peek"]),
  tab: text(raw["tab"]),
  new: text(raw["new"]),
});

export const FILTERS = ["space", "topic", "agent", "person", "tag", "due", "q", "sub"] as const;
