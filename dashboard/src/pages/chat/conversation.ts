// The data of one chat: read from the server, extended by the socket, written by the person. No elements here.

import { api, ask, type Message, Refusal, type Run, type Session, type Shapes } from "../../data/api";
import { cache } from "../../data/cache";
import { currentIdentity, listenIdentity } from "../../data/identity";
import { instant } from "../../data/words";
import { instanceId, randomId } from "./instance";
import { type Aside, type Item, itemsOf, type Line, reused, type Words } from "./items";
import type { Frame } from "./socket";

const HISTORY_PAGE = 200;
const RUNS_READ = 100;
const ANSWER_AWAITED_MS = 3_000;

export class Conversation {
  session: Session | null = null;
  /** Not on the server yet: it comes into being with its first message. */
  isNew = false;
  isRead = false;
  olderCursor: string | null = null;
  version = 0;
  #messages: Message[] = [];
  #runs = new Map<string, Run>();
  #running: Run | null = null;
  #queued: Run[] = [];
  #generationId: string | null = null;
  #live = new Map<string, Words>();
  #unsent: Line[] = [];
  #asides: Aside[] = [];
  #sending = new Set<Promise<unknown>>();
  #listeners = new Set<() => void>();
  #items: Item[] | null = null;
  #drawn: Item[] = [];
  #frame = 0;

  constructor(readonly key: string) {}

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  getVersion = (): number => this.version;

  #changed(): void {
    this.version += 1;
    this.#items = null;
    for (const listener of this.#listeners) listener();
  }

  get items(): Item[] {
    this.#items ??= this.#drawn = reused(this.#drawn, itemsOf({
      messages: this.#messages, runs: this.#runs, running: this.#running, queued: this.#queued, live: this.#live,
      unsent: this.#unsent, asides: this.#asides, asking: this.asking,
    }));
    return this.#items;
  }

  get occupied(): boolean {
    return this.#running !== null || this.#queued.length > 0;
  }

  get working(): boolean {
    return this.#running !== null;
  }

  /** The run that the next message answers: the newest one, if it waits for a person. */
  get asking(): Run | null {
    const newest = this.#runs.values().next().value;
    return newest?.state === "waiting" && newest.waitingFor !== "tool_output" ? newest : null;
  }

  /** Read the session; one that does not exist yet is shown empty. */
  async read(signal: AbortSignal): Promise<number> {
    const path = { key: this.key };
    try {
      const [session, history, queue, runs] = await Promise.all([
        ask(api.GET("/api/sessions/{key}", { params: { path }, signal })),
        ask(api.GET("/api/sessions/{key}/history", { params: { path, query: { limit: HISTORY_PAGE, includeTools: true } }, signal })),
        ask(api.GET("/api/sessions/{key}/queue", { params: { path }, signal })),
        ask(api.GET("/api/runs", { params: { query: { sessionKey: this.key, limit: RUNS_READ } }, signal })),
      ]);
      await this.#answered();
      if (signal.aborted) return this.version;
      this.session = session.session;
      this.isNew = false;
      this.#takeHistory(history);
      this.#running = queue.running ?? null;
      this.#queued = queue.runs;
      this.#runs = new Map(runs.runs.map((run) => [run.id, run]));
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      this.#empty();
    }
    this.#forgetKnown();
    this.isRead = true;
    this.#changed();
    return this.version;
  }

  // What was read may contain a message whose answer is still on its way; without it, the message would be shown twice.
  #answered(): Promise<unknown> {
    const late = new Promise((resolve) => setTimeout(resolve, this.#sending.size === 0 ? 0 : ANSWER_AWAITED_MS));
    return Promise.race([Promise.allSettled(this.#sending), late]);
  }

  // Not created yet, or deleted since: there is nothing to show.
  #empty(): void {
    this.isNew = true;
    this.session = null;
    this.#messages = [];
    this.#runs = new Map();
    this.#running = null;
    this.#queued = [];
    this.olderCursor = null;
  }

  #takeHistory(history: Shapes["History"]): void {
    const newest = history.messages;
    const sameGeneration = this.#generationId === history.sessionId && this.#messages.length > 0;
    const known = new Set(newest.map((message) => message.id));
    const older = sameGeneration ? this.#messages.filter((message) => !known.has(message.id)) : [];
    // A message that is newer than the page's first but not on the page was deleted on the server.
    const first = instant(newest[0]?.timestamp) ?? 0;
    this.#messages = [...older.filter((message) => (instant(message.timestamp) ?? 0) <= first), ...newest];
    if (!sameGeneration) this.olderCursor = history.nextCursor;
    this.#generationId = history.sessionId;
  }

  /** Read the page before the oldest message. */
  async readOlder(): Promise<void> {
    const query = { limit: HISTORY_PAGE, includeTools: true, cursor: this.olderCursor ?? undefined };
    const page = await ask(api.GET("/api/sessions/{key}/history", { params: { path: { key: this.key }, query } }));
    const known = new Set(this.#messages.map((message) => message.id));
    this.#messages = [...page.messages.filter((message) => !known.has(message.id)), ...this.#messages];
    this.olderCursor = page.nextCursor;
    this.#changed();
  }

  #forgetKnown(): void {
    const spoken = new Set(this.#messages.map((message) => message.runId));
    const known = (id: string) => spoken.has(id) || this.#runs.has(id) || this.#running?.id === id || this.#queued.some((run) => run.id === id);
    this.#unsent = this.#unsent.filter((line) => line.runId === null || !known(line.runId));
    for (const [id, words] of this.#live) {
      const answered = this.#messages.some((message) => message.runId === id && message.role === "assistant");
      const ended = this.#running?.id !== id && this.#runs.has(id);
      // A run that is back in the queue starts over: the text of its last attempt is not its reply.
      const again = this.#queued.some((run) => run.id === id);
      if (again || (ended && (answered || words.done))) this.#live.delete(id);
    }
  }

  /** Take a frame of the socket. Text may arrive faster than the screen is drawn, so it is drawn once per frame. */
  receive(frame: Frame): void {
    if (frame.command) return;
    if (frame.runId && (frame.type === "assistant_chunk" || frame.type === "assistant_done")) {
      const said = this.#live.get(frame.runId)?.text ?? "";
      const done = frame.type === "assistant_done";
      this.#live.set(frame.runId, { text: done ? said || (frame.text ?? "") : said + (frame.text ?? ""), done });
      if (this.#frame === 0) {
        this.#frame = requestAnimationFrame(() => {
          this.#frame = 0;
          this.#changed();
        });
      }
      if (done) this.refresh();
    } else if (frame.type === "system_event" && frame.eventType !== "typing") this.refresh();
  }

  /** Read again what is shown. */
  refresh(): void {
    void cache.invalidateQueries({ queryKey: ["session", this.key] });
  }

  /** Add a message that is about to be sent; it is shown at once, marked as not accepted yet. */
  write(text: string, answers: string | null, files: Shapes["NewFile"][], steers = false): Line {
    const line: Line = { id: randomId(), text, files, answers, steers, runId: null, state: "sending", error: "", status: 0 };
    this.#unsent = [...this.#unsent, line];
    this.#changed();
    return line;
  }

  discard(line: Line): void {
    this.#unsent = this.#unsent.filter((each) => each.id !== line.id);
    this.#changed();
  }

  #setLine(line: Line, change: Partial<Line>): void {
    Object.assign(line, change);
    this.#unsent = this.#unsent.map((each) => (each.id === line.id ? { ...line } : each));
    this.#changed();
  }

  /** Send or resend a message; return the server's answer, null if it was refused. */
  async send(line: Line): Promise<{ runId?: string; sessionKey: string } | null> {
    const sending = this.#send(line);
    this.#sending.add(sending);
    try {
      return await sending;
    } finally {
      this.#sending.delete(sending);
      this.refresh();
    }
  }

  async #send(line: Line): Promise<{ runId?: string; sessionKey: string } | null> {
    this.#setLine(line, { state: "sending" });
    try {
      const answer = await ask(api.POST("/api/chat", {
        body: {
          text: line.text, sessionKey: this.key, channelType: "web", clientInstanceId: instanceId(), clientMessageId: line.id,
          answersRunId: line.answers, steer: line.steers, attachments: line.files,
        },
      }));
      this.answered(line.answers);
      if ("runId" in answer) this.#setLine(line, { runId: answer.runId, state: "accepted" });
      else {
        conversation(answer.sessionKey).#keepAside({ id: `aside-${line.id}`, text: line.text, reply: answer.reply, at: this.#newestAt() });
        this.discard(line);
      }
      return answer;
    } catch (error) {
      const { message, status } = error as Refusal;
      this.#setLine(line, { state: "refused", error: message, status });
      return null;
    }
  }

  #keepAside(aside: Aside): void {
    this.#asides = [...this.#asides, aside];
    this.#changed();
  }

  /** Note that a run was answered: until the session is read again, it must not be answered again. */
  answered(runId: string | null): void {
    const run = this.#runs.get(runId ?? "");
    if (run === undefined) return;
    this.#runs = new Map(this.#runs).set(run.id, { ...run, state: "queued" });
    this.#changed();
  }

  // By the server's clock, so that later messages sort after it.
  #newestAt(): number {
    return instant(this.#messages.at(-1)?.timestamp) ?? 0;
  }
}

const open = new Map<string, Conversation>();
listenIdentity(() => {
  if (currentIdentity().stage === "out") open.clear();
});

/** Return the conversation of a session; what was not sent yet stays while one looks at another. */
export function conversation(key: string): Conversation {
  const known = open.get(key);
  if (known !== undefined) return known;
  const made = new Conversation(key);
  open.set(key, made);
  return made;
}
