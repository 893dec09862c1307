// What the address of Agents says: which agent is open, at which tab, and whether one is being made or changed.

import { oneOf, type Raw, textIn } from "../../data/address";

export const TABS = ["about", "tools", "prompt"] as const;
export type Tab = (typeof TABS)[number];
export const PROFILES = ["chat", "task", "subagent", "heartbeat"] as const;
export type Profile = (typeof PROFILES)[number];

export type AgentsSearch = { peek?: string; tab?: Tab; profile?: Profile; edit?: string; new?: "1" };

export const agentsSearch = (raw: Raw): AgentsSearch => ({
  peek: textIn(raw, "peek"),
  tab: oneOf(raw, "tab", TABS),
  profile: oneOf(raw, "profile", PROFILES),
  edit: textIn(raw, "edit"),
  new: oneOf(raw, "new", ["1"]),
});
