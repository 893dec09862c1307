// What the address of Settings says: which settings are shown.

import { oneOf, type Raw, textIn } from "../../data/address";

export const ORIGINS = ["changed", "file", "env", "default"] as const;

export type SettingsSearch = { q?: string; origin?: (typeof ORIGINS)[number] };

export const settingsSearch = (raw: Raw): SettingsSearch => ({ q: textIn(raw, "q"), origin: oneOf(raw, "origin", ORIGINS) });
