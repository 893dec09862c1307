// What the address of Webhooks says: which deliveries are shown, and which is open.

import { oneOf, type Raw, textIn } from "../../data/address";

export const OUTCOMES = ["done", "ignored", "failed"] as const;

export type WebhooksSearch = { webhook?: string; outcome?: (typeof OUTCOMES)[number]; peek?: string };

export const webhooksSearch = (raw: Raw): WebhooksSearch => ({
  webhook: textIn(raw, "webhook"),
  outcome: oneOf(raw, "outcome", OUTCOMES),
  peek: textIn(raw, "peek"),
});
