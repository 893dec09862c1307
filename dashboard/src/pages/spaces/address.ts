// What the address of Spaces says: which space is open, and whether one is being made.

import { oneOf, type Raw, textIn } from "../../data/address";

export type SpacesSearch = { peek?: string; new?: "1" };

export const spacesSearch = (raw: Raw): SpacesSearch => ({ peek: textIn(raw, "peek"), new: oneOf(raw, "new", ["1"]) });
