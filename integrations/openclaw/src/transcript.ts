/** Messages of OpenClaw's transcripts: what they say, who says it, and what makes one of them that one. */

import { withoutContext } from "./entries.ts";
import { digest } from "./sessions.ts";

/** A message that a person or an agent said. */
export interface Said {
  role: "user" | "assistant";
  text: string;
  /** Milliseconds; of a session and a role, it names the message. */
  timestamp: number;
  /** Whether the host has given it a name; what it writes for another attempt has none. */
  isNamed: boolean;
  /** Whether the turn ends with it. */
  isFinal: boolean;
}

interface Message {
  role?: unknown;
  content?: unknown;
  timestamp?: unknown;
  stopReason?: unknown;
  idempotencyKey?: unknown;
  provenance?: { kind?: unknown };
}

/** Return what a message says; undefined when nobody said it: a tool's result, an event, an answer that broke off. */
export function saidIn(message: unknown): Said | undefined {
  const { role, content, timestamp, stopReason, idempotencyKey, provenance } = (message ?? {}) as Message;
  if ((role !== "user" && role !== "assistant") || typeof timestamp !== "number") return undefined;
  // A model that died is asked again, and what it had said until then is not shown to anyone.
  if (stopReason === "error") return undefined;
  // What other sessions and the host itself put in is in a person's place, but no person said it.
  if (role === "user" && provenance?.kind !== undefined && provenance.kind !== "external_user") return undefined;
  const text = withoutContext(wordsOf(content));
  if (!text) return undefined;
  return { role, text, timestamp, isNamed: idempotencyKey !== undefined, isFinal: stopReason !== "toolUse" };
}

/**
 * Return the name of a message, the same one that an import of OpenClaw's store gives it.
 *
 * Of what is stored, hooks know the session's key, the role and the moment; texts are redacted after the hooks have run.
 */
export function identityOf(sessionKey: string, { role, timestamp }: Pick<Said, "role" | "timestamp">): string {
  return `openclaw:${digest([sessionKey, role, String(timestamp)].join("\n"))}`;
}

/** Return what was said in the last turn of a transcript: the question, and the answers after it. */
export function lastTurn(messages: readonly unknown[]): Said[] {
  const asked = messages.findLastIndex((message) => (message as Message | null)?.role === "user");
  return messages.slice(Math.max(asked, 0)).map(saidIn).filter((said) => said !== undefined);
}

/** The text of a message, whose content is a string or a list of parts. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: { type?: unknown; text?: unknown } | null) =>
    part?.type === "text" && typeof part.text === "string" ? part.text : "",
  );
  return texts.filter(Boolean).join("\n\n");
}
