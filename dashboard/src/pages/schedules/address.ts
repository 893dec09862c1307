// What the address of Schedules says: which are shown, which is open, and whether one is being made or changed.

import { oneOf, type Raw, textIn } from "../../data/address";

export type SchedulesSearch = { state?: "on" | "paused"; peek?: string; edit?: string; new?: "1" };

export const schedulesSearch = (raw: Raw): SchedulesSearch => ({
  state: oneOf(raw, "state", ["on", "paused"]),
  peek: textIn(raw, "peek"),
  edit: textIn(raw, "edit"),
  new: oneOf(raw, "new", ["1"]),
});
