// What the address of People and tokens says: which kind of token is shown, and what is being made or changed.

import { oneOf, type Raw, textIn } from "../../data/address";

export const KINDS = ["owner", "user", "agent", "client"] as const;
export type Kind = (typeof KINDS)[number];

export type TokensSearch = { kind?: Kind; new?: "token" | "person"; person?: string };

export const tokensSearch = (raw: Raw): TokensSearch => ({ kind: oneOf(raw, "kind", KINDS), new: oneOf(raw, "new", ["token", "person"]), person: textIn(raw, "person") });
