// The data of a chat: read from the server, updated by the socket, sent by the user. No elements here.

import { get, lanePath, post, readAll, url } from "../api.js";
import { instanceId, randomId } from "../instance.js";
import { instant } from "../format.js";
import { itemsOf } from "./items.js";

const HISTORY_PAGE = 200;
const RUNS_READ = 100;
const ANSWER_AWAITED_MS = 3_000;

// Replies to commands are not stored by the server; they are kept while the page is open.
const asidesByLane = new Map();

export class ChatLane {
  messages = [];
  runs = new Map();
  running = null;
  queued = [];
  row = null;
  olderCursor = null;
  #generationId = null;
  #live = new Map();
  #unsent = [];
  #sending = new Set();

  constructor(key, { isNew }) {
    this.key = key;
    this.isNew = isNew;
    if (!asidesByLane.has(key)) asidesByLane.set(key, []);
  }

  get items() {
    return itemsOf({
      messages: this.messages, runs: this.runs, running: this.running, queued: this.queued,
      live: this.#live, unsent: this.#unsent, asides: asidesByLane.get(this.key), asking: this.asking,
    });
  }

  get occupied() {
    return this.running !== null || this.queued.length > 0;
  }

  /** The run that the next message answers: the newest one, if it waits for a person. */
  get asking() {
    const newest = this.runs.values().next().value;
    return newest?.state === "waiting" && newest.waitingFor !== "tool_output" ? newest : null;
  }

  /** Reload the lane; one that does not exist yet is shown empty. */
  async read(signal) {
    try {
      const [session, history, queue, runs] = await Promise.all([
        get(lanePath(this.key), { signal }),
        get(url(lanePath(this.key, "/history"), { limit: HISTORY_PAGE, includeTools: 1 }), { signal }),
        get(lanePath(this.key, "/queue"), { signal }),
        readAll("/api/runs", { sessionKey: this.key, limit: RUNS_READ }, "runs", { pages: 1, signal }),
      ]);
      await this.#answered();
      if (signal.aborted) return;
      this.row = session.session;
      this.isNew = false;
      this.#takeHistory(history);
      this.running = queue.running ?? null;
      this.queued = queue.runs ?? [];
      this.runs = new Map(runs.rows.map((run) => [run.id, run]));
    } catch (error) {
      if (error.status !== 404) throw error;
      this.#empty();
    }
    this.#forgetKnown();
  }

  // What was read may contain a message whose answer is still on its way; without it, the message would be shown twice.
  #answered() {
    const late = new Promise((resolve) => setTimeout(resolve, ANSWER_AWAITED_MS));
    return Promise.race([Promise.allSettled(this.#sending), late]);
  }

  // Not created yet, or deleted since: there is nothing to show.
  #empty() {
    this.isNew = true;
    this.row = null;
    this.messages = [];
    this.runs = new Map();
    this.running = null;
    this.queued = [];
    this.olderCursor = null;
  }

  #takeHistory(history) {
    const newest = history.messages ?? [];
    const sameGeneration = this.#generationId === history.sessionId && this.messages.length > 0;
    const known = new Set(newest.map((message) => message.id));
    const older = sameGeneration ? this.messages.filter((message) => !known.has(message.id)) : [];
    // A message that is newer than the page's first but not on the page was deleted on the server.
    const first = instant(newest[0]?.timestamp) ?? 0;
    this.messages = [...older.filter((message) => (instant(message.timestamp) ?? 0) <= first), ...newest];
    if (!sameGeneration) this.olderCursor = history.nextCursor ?? null;
    this.#generationId = history.sessionId;
  }

  /** Read the page before the oldest message. */
  async readOlder() {
    const page = await get(url(lanePath(this.key, "/history"), { limit: HISTORY_PAGE, includeTools: 1, cursor: this.olderCursor }));
    const known = new Set(this.messages.map((message) => message.id));
    this.messages = [...page.messages.filter((message) => !known.has(message.id)), ...this.messages];
    this.olderCursor = page.nextCursor ?? null;
  }

  #forgetKnown() {
    const spoken = new Set(this.messages.map((message) => message.runId));
    const known = (id) => spoken.has(id) || this.runs.has(id) || this.running?.id === id || this.queued.some((run) => run.id === id);
    this.#unsent = this.#unsent.filter((line) => line.runId === null || !known(line.runId));
    for (const [id, words] of this.#live) {
      const answered = this.messages.some((message) => message.runId === id && message.role === "assistant");
      const ended = this.running?.id !== id && this.runs.has(id);
      // A run that is back in the queue starts over: the text of its last attempt is not its reply.
      const again = this.queued.some((run) => run.id === id);
      if (again || (ended && (answered || words.done))) this.#live.delete(id);
    }
  }

  /** Apply a frame; return true if it changed what is shown, "read" if the lane must be reloaded. */
  receive(frame) {
    if (frame.command) return false;
    if (frame.type === "assistant_chunk" && frame.runId) {
      const words = this.#live.get(frame.runId) ?? { text: "", done: false };
      this.#live.set(frame.runId, { text: words.text + (frame.text ?? ""), done: false });
      return true;
    }
    if (frame.type === "assistant_done" && frame.runId) {
      const words = this.#live.get(frame.runId);
      this.#live.set(frame.runId, { text: words?.text || frame.text || "", done: true });
      return "read";
    }
    return frame.type === "system_event" && frame.eventType !== "typing" ? "read" : false;
  }

  /** Add a message that is about to be sent; it is shown at once, marked as not accepted yet. `answers` is a run or null. */
  write(text, answers) {
    const line = { id: randomId(), text, answers, runId: null, state: "sending", error: "", status: 0 };
    this.#unsent.push(line);
    return line;
  }

  discard(line) {
    this.#unsent = this.#unsent.filter((each) => each !== line);
  }

  /** Send or resend a message; return the server's answer, null if it was refused. */
  async send(line) {
    const sending = this.#send(line);
    this.#sending.add(sending);
    try {
      return await sending;
    } finally {
      this.#sending.delete(sending);
    }
  }

  async #send(line) {
    line.state = "sending";
    try {
      const answer = await post("/api/chat", {
        text: line.text, sessionKey: this.key, channelType: "web", clientInstanceId: instanceId(), clientMessageId: line.id,
        answersRunId: line.answers,
      });
      this.answered(line.answers);
      if (answer.runId) {
        line.runId = answer.runId;
        line.state = "accepted";
      } else {
        this.discard(line);
        keepAside(answer.sessionKey ?? this.key, { id: `aside-${line.id}`, text: line.text, reply: answer.reply ?? "", at: this.#newestAt() });
      }
      return answer;
    } catch (error) {
      line.state = "refused";
      line.error = error.message;
      line.status = error.status;
      return null;
    }
  }

  /** Note that a run was answered: until the lane is reloaded, it must not be answered again. */
  answered(runId) {
    const run = this.runs.get(runId);
    if (run !== undefined) this.runs.set(runId, { ...run, state: "queued" });
  }

  // By the server's clock, so that later messages sort after it.
  #newestAt() {
    return Math.max(0, ...this.messages.slice(-1).map((message) => instant(message.timestamp) ?? 0));
  }
}

function keepAside(key, aside) {
  asidesByLane.set(key, [...(asidesByLane.get(key) ?? []), aside]);
}
