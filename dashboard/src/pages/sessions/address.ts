// What the addresses of sessions say: filters of the list; the tab and the generation of one.

export const KINDS = ["chats", "tasks", "main", "machine"] as const;
export type Kind = (typeof KINDS)[number];
export const STATES = ["idle", "busy", "closed"] as const;
type State = (typeof STATES)[number];

export type SessionsSearch = { q?: string; kind?: Kind; state?: State; agent?: string; archived?: "1"; machine?: "1" };

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));
const flag = (value: unknown): "1" | undefined => (value === undefined ? undefined : "1");

export const sessionsSearch = (raw: Record<string, unknown>): SessionsSearch => ({
  q: text(raw["q"]),
  kind: KINDS.find((kind) => kind === raw["kind"]),
  state: STATES.find((state) => state === raw["state"]),
  agent: text(raw["agent"]),
  archived: flag(raw["archived"]),
  machine: flag(raw["machine"]),
});

export const TABS = ["transcript", "queue", "children", "generations"] as const;

export type SessionSearch = { tab?: (typeof TABS)[number]; generation?: number; tools?: "hidden" };

export const sessionSearch = (raw: Record<string, unknown>): SessionSearch => {
  const generation = Number(raw["generation"]);
  return {
    tab: TABS.find((tab) => tab === raw["tab"]),
    generation: Number.isInteger(generation) && generation > 0 ? generation : undefined,
    tools: raw["tools"] === "hidden" ? "hidden" : undefined,
  };
};
