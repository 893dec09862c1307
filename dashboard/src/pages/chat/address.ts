// What the address of a chat says: whether a new one is wanted, and which receipt is open.

export type ChatSearch = { new?: string; agent?: string; receipt?: string; panel?: string };

const text = (value: unknown): string | undefined => (value === undefined ? undefined : String(value));

export const chatSearch = (raw: Record<string, unknown>): ChatSearch => ({
  new: text(raw["new"]),
  agent: text(raw["agent"]),
  receipt: text(raw["receipt"]),
  // Whether the panels of plan and auto mode are open; without it the width of the window decides.
  panel: text(raw["panel"]),
});
