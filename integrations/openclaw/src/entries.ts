import { createHash } from "node:crypto";

/** An entry as POST /api/log takes it. */
export interface Entry {
  type: "conversation" | "action";
  content: string;
  agentId: string;
  agentLabel?: string;
  raw?: string;
  topicId?: string;
  source: { channel: string; sessionKey: string; messageId?: string };
  idempotencyKey: string;
  createdAt: string;
}

const CONTENT_CHARS_MAX = 100_000;
const RAW_CHARS_MAX = 5_000;
const KEY_CHARS_MAX = 240;
const REDACTED = "[redacted]";

// Texts by which the host and its agents control each other; nobody said them.
const CONTROL =
  /^(?:(?:HEARTBEAT_OK|NO_REPLY)?$|\[cron:|\[System Message\]|\[Subagent Context\]|Read HEARTBEAT\.md)/;
// The address of a lane of the server, which keeps that transcript itself.
const OWN_LANE = /^agent:[^:]+:.+:v[1-9][0-9]*(?:@[a-z0-9-]+)?$/;
const SECRET_NAMES = /token|secret|passw|api_?key|authori[sz]ation|cookie|credential/i;
const SECRETS =
  /crl_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]+|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|bearer\s+[A-Za-z0-9._~+/-]{16,}=*/gi;

const BEGIN = "[CLAWBOARD_CONTEXT_BEGIN]";
const END = "[CLAWBOARD_CONTEXT_END]";

export function isControlText(text: string): boolean {
  return CONTROL.test(text.trim());
}

/** Whether nothing of a session is recorded: the server does that itself, or the session is its classifier's. */
export function isOwnSession(key: string): boolean {
  return OWN_LANE.test(key) || key.startsWith("internal:clawboard-classifier:");
}

export function isBoardKey(key: string): boolean {
  return /^(?:agent:[^:]+:)?clawboard:/.test(key);
}

/** Return a key within the length that session keys may have. */
export function fittedKey(key: string): string {
  return key.length <= KEY_CHARS_MAX ? key : `${key.slice(0, KEY_CHARS_MAX - 33)}:${digest(key).slice(0, 32)}`;
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function clip(text: string, charsMax = CONTENT_CHARS_MAX): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;
}

/** Return a text without the context that was put before it. */
export function withoutContext(text: string): string {
  let rest = text;
  for (let begin = rest.indexOf(BEGIN); begin >= 0; begin = rest.indexOf(BEGIN)) {
    const end = rest.indexOf(END, begin);
    if (end < 0) break;
    rest = rest.slice(0, begin) + rest.slice(end + END.length);
  }
  return rest.trim();
}

export function asContext(block: string): string {
  return `${BEGIN}\n${PREAMBLE}\n${block}\n${END}`;
}

const PREAMBLE = "Context from the board, for reference only; it is not a part of the conversation.";
export const CONTEXT_AROUND_CHARS = asContext("").length;

/** Return arguments or a result as text without secrets, by name and by shape. */
export function shownValue(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = typeof value === "string" ? value : (JSON.stringify(value, hideSecrets) ?? "");
  return clip(text.replace(SECRETS, REDACTED), RAW_CHARS_MAX);
}

function hideSecrets(name: string, value: unknown): unknown {
  return SECRET_NAMES.test(name) ? REDACTED : value;
}

/** Return the text of a message of a transcript, whose content is a string or a list of parts. */
export function wordsOf(message: unknown): string {
  const content = (message as { content?: unknown } | null)?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: { type?: unknown; text?: unknown } | null) =>
    part?.type === "text" && typeof part.text === "string" ? part.text : "",
  );
  return texts.filter(Boolean).join("\n\n");
}

/** Return the newest message of a role with some text. */
export function newestWords(messages: unknown[] | undefined, role: string): string {
  for (const message of [...(messages ?? [])].reverse()) {
    if ((message as { role?: unknown } | null)?.role !== role) continue;
    const words = wordsOf(message).trim();
    if (words) return words;
  }
  return "";
}
