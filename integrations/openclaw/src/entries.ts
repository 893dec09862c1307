/** An entry as POST /api/log takes it. */
export interface Entry {
  type: "conversation" | "action";
  content: string;
  agentId: string;
  raw?: string;
  topicId?: string;
  source: { channel: string; sessionKey: string };
  idempotencyKey: string;
  createdAt: string;
}

const CONTENT_CHARS_MAX = 100_000;
const RAW_CHARS_MAX = 5_000;
const REDACTED = "[redacted]";

// Texts by which the host and its agents control each other; nobody said them.
const CONTROL =
  /^(?:(?:HEARTBEAT_OK|NO_REPLY)?$|\[cron:|\[System Message\]|\[Subagent Context\]|Read HEARTBEAT\.md)/;
const SECRET_NAMES = /token|secret|passw|api_?key|authori[sz]ation|cookie|credential/i;
const SECRETS =
  /crl_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]+|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|bearer\s+[A-Za-z0-9._~+/-]{16,}=*/gi;

const BEGIN = "[CLAWBOARD_CONTEXT_BEGIN]";
const END = "[CLAWBOARD_CONTEXT_END]";
const PREAMBLE = "Context from the board, for reference only; it is not a part of the conversation.";
// Stands in what the server asks a gateway, whatever becomes of the session's key there.
const OWN_REQUEST = "[carrel:internal-request]";

export function isControlText(text: string): boolean {
  return CONTROL.test(text.trim());
}

export function isOwnRequest(text: string): boolean {
  return text.includes(OWN_REQUEST);
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
