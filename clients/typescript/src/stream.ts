// The events of the server as a stream that resumes where it was cut off.

import { headersOf, type Server } from "./client.js";
import type { CarrelEvent } from "./events.js";
import { Refusal, refusalOf, UNREACHABLE } from "./refusal.js";

/** What a stream says: where it begins, what has happened, or that what happened meanwhile has to be read anew. */
export type Frame =
  | { kind: "ready"; seq: number }
  | { kind: "event"; event: CarrelEvent }
  | { kind: "reset"; reason: string; seq: number };

export type Selection = {
  /** Names of events, or how they begin: `["run.", "task.updated"]`. */
  events?: string[];
  sessionKey?: string;
  taskId?: string;
  topicId?: string;
  spaceId?: string;
  /** The last event that was heard; what followed it comes first. */
  lastEventId?: number | undefined;
  signal?: AbortSignal;
};

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

/** Follow one connection until the server or the network ends it; throw a `Refusal` when it cannot begin. */
export async function* openStream(server: Server, selection: Selection = {}): AsyncGenerator<Frame> {
  const { signal, events, lastEventId, ...filters } = selection;
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== undefined));
  if (events !== undefined) query.set("events", events.join(","));
  if (lastEventId !== undefined) query.set("lastEventId", String(lastEventId));
  const address = `${server.url}/api/stream${query.size > 0 ? `?${query}` : ""}`;
  const response = await fetch(address, { headers: headersOf(server, "text/event-stream"), signal: signal ?? null, cache: "no-store" })
    .catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Refusal(0, "unreachable", UNREACHABLE);
    });
  if (!response.ok) throw await refusalOf(response);
  if (response.body !== null) yield* framesOf(response.body);
}

/** Follow the events for as long as they are asked for; a stream that is cut off is resumed behind the last event. */
export async function* followEvents(server: Server, selection: Selection = {}): AsyncGenerator<Frame> {
  let last = selection.lastEventId;
  for (let failures = 0; !selection.signal?.aborted; failures += 1) {
    try {
      for await (const frame of openStream(server, { ...selection, lastEventId: last })) {
        failures = 0;
        if (frame.kind === "event") last = frame.event.seq;
        else if (frame.kind === "reset") last = frame.seq;
        else last ??= frame.seq;
        yield frame;
      }
    } catch (error) {
      if (selection.signal?.aborted) return;
      if (error instanceof Refusal && !error.passing) throw error;
    }
    await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures), selection.signal);
  }
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const frame = frameOf(block);
        if (frame !== null) yield frame;
      }
    }
  } finally {
    await reader.cancel().catch(() => {
      // It had failed or ended already.
    });
  }
}

/** Return what one block says; null for a ping. */
function frameOf(block: string): Frame | null {
  let name = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5));
  }
  if (data.length === 0) return null;
  const said = JSON.parse(data.join("\n"));
  if (name === "stream.ready") return { kind: "ready", seq: said.seq };
  if (name === "stream.reset") return { kind: "reset", reason: said.reason, seq: said.seq };
  return { kind: "event", event: said };
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
