// What the address of Health says: how far back its plots go.

import { oneOf, type Raw } from "../../data/address";

export const SPANS = ["60", "360", "1440"] as const;

export type HealthSearch = { minutes?: (typeof SPANS)[number] };

export const healthSearch = (raw: Raw): HealthSearch => ({ minutes: oneOf(raw, "minutes", SPANS) });
