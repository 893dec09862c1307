import { randomUUID } from "node:crypto";

import { ContextReader } from "./context.ts";
import { clip, isControlText, isOwnRequest, shownValue, withoutContext, type Entry } from "./entries.ts";
import { agentOf, boardKey, digest, foreignKey, type Where } from "./sessions.ts";
import { identityOf, lastTurn, saidIn, type Said } from "./transcript.ts";
import { Turns, type Turn } from "./turns.ts";

// Turns that nobody asked for.
const BACKGROUND = ["heartbeat", "cron", "memory"];
// Calls another tool of OpenClaw's catalogue, which is reported under its own name.
const CATALOGUE_CALL = "tool_call";
// So long after a turn its messages may still be written.
const LATE_MS = 2_000;

export interface MessageEvent {
  sessionKey?: string | undefined;
  threadId?: string | number | undefined;
  metadata?: Record<string, unknown> | undefined;
}

export interface ToolEvent {
  toolName: string;
  runId?: string | undefined;
  toolCallId?: string | undefined;
  params?: unknown;
  result?: unknown;
  error?: string | undefined;
}

/**
 * Turns what OpenClaw's hooks report into entries, and fetches the context of each turn once.
 *
 * What is said is taken from the transcript as it is written, whoever started the turn: messages that channels report
 * tell only where a session takes place.
 */
export class Recorder {
  readonly #turns: Turns;
  readonly #contexts: ContextReader;
  readonly #keep: (entry: Entry) => void;

  constructor(turns: Turns, contexts: ContextReader, keep: (entry: Entry) => void) {
    this.#turns = turns;
    this.#contexts = contexts;
    this.#keep = keep;
  }

  /** A person has written in a channel: that is where the session takes place from now on. */
  messageReceived(event: MessageEvent, where: Where): void {
    const key = event.sessionKey ?? where.sessionKey;
    const thread = event.threadId ?? event.metadata?.threadId;
    if (key && where.conversationId) this.#turns.locate(key, where.conversationId, thread, where.channelId);
  }

  /** A message is about to be written into a transcript. */
  messageWritten(message: unknown, where: Where): void {
    const turn = this.#turns.of(where.sessionKey);
    if (!turn) return;
    turn.isWritten = true;
    clearTimeout(turn.unwritten);
    const said = saidIn(message);
    if (said) this.#say(turn, said, where);
  }

  /** A turn has ended; of a runtime that writes no transcript, its messages are told here and nowhere else. */
  turnEnded(messages: readonly unknown[], where: Where): void {
    const turn = this.#turns.of(where.sessionKey);
    if (!turn) return;
    if (!turn.isWritten && !isBackground(where)) {
      clearTimeout(turn.unwritten);
      const last = lastTurn(messages);
      turn.unwritten = setTimeout(() => last.forEach((said) => this.#say(turn, said, where)), LATE_MS).unref();
    }
    turn.isWritten = turn.isBackground = false;
    delete turn.context;
  }

  toolCalled(event: ToolEvent, where: Where): void {
    this.#act(`Tool call: ${event.toolName}`, event.params, event, where, "call");
  }

  toolEnded(event: ToolEvent, where: Where): void {
    const error = shownValue(event.error);
    const content = error === undefined ? `Tool result: ${event.toolName}` : `Tool error: ${event.toolName}: ${error}`;
    this.#act(content, event.result, event, where, "result");
  }

  /** A sub-agent was spawned: its session belongs where the one belongs that has asked for it. */
  childSpawned(child: string, label: string | undefined, requester: string): void {
    const turn = this.#turns.of(requester);
    if (!turn) return this.#turns.disown(child);
    const raw = JSON.stringify({ childSessionKey: foreignKey(child) });
    const entry = this.#entry(turn, "action", `Sub-agent spawned: ${label ?? "unnamed"}`, { sessionKey: requester });
    this.#keep({ ...entry, raw, idempotencyKey: `openclaw:${digest(`${child}\nspawned`)}` });
  }

  /** Return the context for a prompt, empty when there is none or not in time; asked again, the same. */
  context(prompt: string, where: Where): Promise<string> {
    const question = withoutContext(prompt);
    if (isOwnRequest(question)) this.#turns.disown(where.sessionKey ?? "");
    const turn = this.#turns.of(where.sessionKey);
    if (!turn) return Promise.resolve("");
    turn.isBackground = isBackground(where);
    if (turn.isBackground) return Promise.resolve("");
    if (turn.context?.question !== question) {
      const known = turn.isAnswered ? [] : turn.asked.map((said) => identityOf(turn.key, said));
      turn.context = { question, block: this.#contexts.fetch(turn.session, question, known) };
    }
    return turn.context.block;
  }

  #say(turn: Turn, said: Said, where: Where): void {
    if (said.role === "user" && isOwnRequest(said.text)) return this.#turns.disown(turn.key);
    if (turn.isBackground || isControlText(said.text) || !turn.isNews(said)) return;
    // The board's own endpoint has recorded what people say in a chat of the board.
    if (said.role === "user" && boardKey(turn.key)) return;
    const entry = this.#entry(turn, "conversation", clip(said.text), where);
    this.#keep({
      ...entry,
      agentId: said.role === "user" ? "user" : entry.agentId,
      idempotencyKey: identityOf(turn.key, said),
      createdAt: new Date(said.timestamp).toISOString(),
    });
  }

  #act(content: string, value: unknown, event: ToolEvent, where: Where, part: string): void {
    const turn = this.#turns.of(where.sessionKey);
    if (!turn || event.toolName === CATALOGUE_CALL) return;
    const entry = this.#entry(turn, "action", clip(content), where);
    const raw = shownValue(value);
    if (event.toolCallId !== undefined) {
      // Models number their calls anew in every turn.
      const call = [turn.key, event.runId ?? "", event.toolCallId, part].join("\n");
      entry.idempotencyKey = `openclaw:${digest(call)}`;
    }
    this.#keep(raw === undefined ? entry : { ...entry, raw });
  }

  #entry(turn: Turn, type: Entry["type"], content: string, where: Where): Entry {
    return {
      type,
      content,
      agentId: agentOf(where),
      source: { channel: turn.channel, sessionKey: turn.session },
      idempotencyKey: `openclaw:${randomUUID()}`,
      createdAt: new Date().toISOString(),
    };
  }
}

function isBackground({ trigger }: Where): boolean {
  return BACKGROUND.includes(trigger ?? "");
}
