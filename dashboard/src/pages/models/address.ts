// What the address of Models says: which gateway is open, and which test turn of it.

import { type Raw, textIn } from "../../data/address";

export type ModelsSearch = { peek?: string; run?: string };

export const modelsSearch = (raw: Raw): ModelsSearch => ({ peek: textIn(raw, "peek"), run: textIn(raw, "run") });
