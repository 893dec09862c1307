import { randomUUID } from "node:crypto";

import type { Config } from "./config.ts";
import {
  asContext,
  clip,
  CONTEXT_AROUND_CHARS,
  fittedKey,
  isBoardKey,
  isControlText,
  isOwnSession,
  newestWords,
  shownValue,
  withoutContext,
  type Entry,
} from "./entries.ts";
import type { MessageEvent, ToolEvent, TurnEvent, Where } from "./host.ts";
import { ask } from "./server.ts";

const QUERY_CHARS_MAX = 500;
const SESSIONS_MAX = 1_000;
// Turns that nobody asked for.
const BACKGROUND = ["heartbeat", "cron", "memory"];

interface Turn {
  heard: boolean;
  answered: boolean;
  prompt?: string;
  context?: Promise<string>;
}

/** Turns what OpenClaw's hooks report into entries, and fetches the context of each turn once. */
export class Recorder {
  readonly #config: Config;
  readonly #keep: (session: string, entry: Entry) => void;
  readonly #turns = new Map<string, Turn>();
  // Session keys of OpenClaw -> the conversations in which they were seen.
  readonly #conversations = new Map<string, string>();

  constructor(config: Config, keep: (session: string, entry: Entry) => void) {
    this.#config = config;
    this.#keep = keep;
  }

  messageReceived(event: MessageEvent, where: Where): void {
    const session = this.#session({ ...where, ...event, ...threadOf(event) });
    if (!session) return;
    this.#turns.set(session, { heard: true, answered: false });
    // The board's own endpoint has recorded what people say in a chat of the board.
    if (isBoardKey(session)) return;
    this.#say(session, "user", event.content ?? "", where, event.messageId ?? metadata(event, "messageId"));
  }

  messageSending(event: MessageEvent, where: Where): void {
    const session = this.#session({ ...where, ...event, ...threadOf(event) });
    if (!session) return;
    if (this.#say(session, agentOf(where, session), event.content ?? "", where)) this.#turn(session).answered = true;
  }

  toolCalled(event: ToolEvent, where: Where): void {
    this.#tool(`Tool call: ${event.toolName ?? "unknown"}`, event.params, event, where, "call");
  }

  toolEnded(event: ToolEvent, where: Where): void {
    const name = event.toolName ?? "unknown";
    const error = event.error === undefined ? undefined : shownValue(event.error);
    const content = error === undefined ? `Tool result: ${name}` : `Tool error: ${name}: ${error}`;
    this.#tool(content, event.result, event, where, "result");
  }

  /** A turn has ended: keep what no other hook has reported, since some ways to start one report no messages. */
  turnEnded(event: TurnEvent, where: Where): void {
    const session = this.#session(where);
    if (!session) return;
    const turn = this.#turn(session);
    this.#turns.delete(session);
    if (BACKGROUND.includes(where.trigger ?? "")) return;
    const asked = withoutContext(newestWords(event.messages, "user"));
    if (!turn.heard && !isBoardKey(session)) this.#say(session, "user", asked, where);
    if (!turn.answered) this.#say(session, agentOf(where, session), newestWords(event.messages, "assistant"), where);
  }

  /** Return the context for a prompt, empty when there is none or not in time; asked again, the same. */
  context(event: TurnEvent, where: Where): Promise<string> {
    const session = this.#session(where);
    const prompt = withoutContext(event.prompt ?? "");
    if (!session || !this.#config.contextAugment || BACKGROUND.includes(where.trigger ?? "")) return Promise.resolve("");
    const turn = this.#turn(session);
    if (turn.context === undefined || turn.prompt !== prompt) {
      turn.prompt = prompt;
      turn.context = this.#fetchContext(session, prompt);
    }
    return turn.context;
  }

  async #fetchContext(session: string, prompt: string): Promise<string> {
    const config = this.#config;
    const charsMax = config.contextMaxChars - CONTEXT_AROUND_CHARS;
    if (charsMax <= 0) return "";
    const query = new URLSearchParams({
      sessionKey: session,
      q: prompt.slice(0, QUERY_CHARS_MAX),
      mode: config.contextMode,
      maxChars: String(charsMax),
      topicLimit: String(config.contextTopicLimit),
      taskLimit: String(config.contextTaskLimit),
      logLimit: String(config.contextLogLimit),
    });
    try {
      const answer = await ask(config, "GET", `/api/context?${query}`, { timeoutMs: config.contextFetchTimeoutMs });
      const { block } = answer as { block?: string };
      return block ? asContext(block) : "";
    } catch {
      // The turn goes on without it.
      return "";
    }
  }

  /** Return the session key for the board; empty when nothing of the session is recorded. */
  #session(where: Where): string {
    const own = where.sessionKey ?? "";
    if (isBoardKey(own)) return fittedKey(own);
    if (isOwnSession(own)) return "";
    if (where.conversationId) {
      const thread = where.threadId === undefined ? "" : `|thread:${where.threadId}`;
      const key = fittedKey(`${where.conversationId}${thread}`);
      if (own) remember(this.#conversations, own, key);
      return key;
    }
    // A session of OpenClaw is no lane of the server, even if the keys look alike.
    if (own) return this.#conversations.get(own) ?? fittedKey(`openclaw:${own}`);
    return where.channelId ? fittedKey(`channel:${where.channelId}`) : "";
  }

  #turn(session: string): Turn {
    const turn = this.#turns.get(session) ?? { heard: false, answered: false };
    remember(this.#turns, session, turn);
    return turn;
  }

  #say(session: string, agentId: string, text: string, where: Where, messageId?: string): boolean {
    if (isControlText(text)) return false;
    this.#keep(session, { ...this.#entry(session, "conversation", text, agentId, where, messageId) });
    return true;
  }

  #tool(content: string, value: unknown, event: ToolEvent, where: Where, part: string): void {
    const session = this.#session(where);
    if (!session) return;
    const id = event.toolCallId === undefined ? undefined : `${event.toolCallId}:${part}`;
    const raw = shownValue(value);
    const entry = this.#entry(session, "action", content, agentOf(where, session), where, id);
    this.#keep(session, raw === undefined ? entry : { ...entry, raw });
  }

  #entry(
    session: string,
    type: Entry["type"],
    text: string,
    agentId: string,
    where: Where,
    messageId?: string,
  ): Entry {
    const source = { channel: where.channelId ?? "openclaw", sessionKey: session, ...(messageId ? { messageId } : {}) };
    const createdAt = new Date().toISOString();
    return { type, content: clip(text), agentId, source, idempotencyKey: `openclaw_${randomUUID()}`, createdAt };
  }
}

function agentOf(where: Where, session: string): string {
  return where.agentId ?? /(?:^|:)agent:([^:]+):/.exec(where.sessionKey ?? session)?.[1] ?? "assistant";
}

function metadata(event: MessageEvent, name: string): string | undefined {
  const value = event.metadata?.[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function threadOf(event: MessageEvent): { threadId?: string | number } {
  const thread = event.threadId ?? metadata(event, "threadId");
  return thread === undefined ? {} : { threadId: thread };
}

/** Set a value, and forget the oldest beyond a number. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next().value;
  if (map.size > SESSIONS_MAX && oldest !== undefined) map.delete(oldest);
}
