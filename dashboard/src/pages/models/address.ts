// What the address of Models says: which gateway is open, which test turn of it, and whether one is being connected.

import { oneOf, type Raw, textIn } from "../../data/address";

export type ModelsSearch = { peek?: string; run?: string; new?: "1" };

export const modelsSearch = (raw: Raw): ModelsSearch => ({ peek: textIn(raw, "peek"), run: textIn(raw, "run"), new: oneOf(raw, "new", ["1"]) });
