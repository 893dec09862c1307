import { createHash } from "node:crypto";

const KEY_CHARS_MAX = 240;
// Keys under which the server asks the gateway. OpenClaw puts an agent before a key and writes it in small letters, so
// ours may stand anywhere.
const OWN_KEY = /^carrel:|(?:^|[:|])(?:internal:clawboard-classifier:|agent:[^:|]+:carrel:)/i;
// The address of a lane of the server, which keeps that transcript itself.
const OWN_LANE = /^agent:[^:]+:.+:v[1-9][0-9]*(?:@[a-z0-9-]+)?$/i;
const AGENT = /^agent:[^:]+:/;
const BOARD_KEY = /^(?:agent:[^:]+:)?(clawboard:(?:topic|task):.+)$/;

/** What hooks are told about where something happens; each hook has some of it. */

/** Whether nothing of a session is recorded and nothing recalled for it: the server has opened it itself. */
export function isOwnSession(key        )          {
  return OWN_KEY.test(key) || OWN_LANE.test(key);
}

/** Whether a key begins with one of the prefixes, with or without the agent before it. */
export function hasPrefix(key        , prefixes                   )          {
  const rest = key.replace(AGENT, "");
  return prefixes.some((prefix) => key.startsWith(prefix) || rest.startsWith(prefix));
}

/** Return the key of a chat of the board, without the agent that OpenClaw puts before it; undefined for others. */
export function boardKey(key        )                     {
  return BOARD_KEY.exec(key)?.[1];
}

/** Return the name of a session of OpenClaw on the board: it is no lane of the server, even if the keys look alike. */
export function foreignKey(key        )         {
  return fittedKey(`openclaw:${key}`);
}

/** Return a key within the length that session keys may have. */
export function fittedKey(key        )         {
  return key.length <= KEY_CHARS_MAX ? key : `${key.slice(0, KEY_CHARS_MAX - 33)}:${digest(key).slice(0, 32)}`;
}

export function digest(text        )         {
  return createHash("sha256").update(text).digest("hex");
}

/** Return the agent of a session, by what the host says or the key. */
export function agentOf(where       )         {
  return where.agentId ?? /^agent:([^:]+):/.exec(where.sessionKey ?? "")?.[1] ?? "assistant";
}
