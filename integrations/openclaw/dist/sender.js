import { clip,            } from "./entries.js";

import { ask, Refused } from "./server.js";
import { boardKey, digest } from "./sessions.js";

const BATCH_MAX = 100;
const IDLE_MS = 1_000;
const RETRY_MS = 250;
const RETRY_MS_MAX = 10_000;
// An entry that is refused with these will be refused every time; with others it may be taken later.
const NEVER = [400, 409, 413, 415, 422];

/** Sends what waits in the outbox, in order, until the server has taken it. */
export class Sender {
           #outbox        ;
           #config        ;
           #logger                    ;
           #topics = new Set        ();
  #timer                            ;
  #running                           ;
  #failures = 0;
  #stopped = false;

  constructor(outbox        , config        , logger         ) {
    this.#outbox = outbox;
    this.#config = config;
    this.#logger = logger;
    this.wake();
  }

  /** Send soon, unless the server has just failed to take something. */
  wake()       {
    if (!this.#failures && !this.#running) this.#schedule(0);
  }

  /** End; what is not sent stays in the outbox. */
  async stop()                {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(ms        )       {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#round().finally(() => {
        this.#running = undefined;
      });
    }, ms);
    this.#timer.unref();
  }

  async #round()                {
    let pause = IDLE_MS;
    try {
      if (this.#outbox.maySend(Date.now()) && (await this.#sendSome())) pause = 0;
      this.#failures = 0;
    } catch (fault) {
      pause = Math.min(RETRY_MS * 2 ** Math.min(this.#failures, 10), RETRY_MS_MAX);
      this.#failures += 1;
      this.#logger?.warn(`carrel: entries wait (${String(fault)})`);
    }
    this.#schedule(pause);
  }

  async #sendSome()                   {
    const waiting = this.#outbox.oldest(BATCH_MAX);
    let done = 0;
    try {
      for (const each of waiting) {
        if (this.#stopped) break;
        await this.#send(each);
        done = each.id;
      }
    } finally {
      // Once for all of them: an entry that is sent again is recognised by its key.
      if (done) this.#outbox.sent(done);
    }
    return waiting.length > 0;
  }

  async #send(waiting         )                {
    const entry        = { ...waiting.entry };
    const session = entry.source.sessionKey;
    if (this.#config.autoTopicBySession && !boardKey(session)) entry.topicId = await this.#topic(session);
    try {
      const path = this.#config.queue ? "/api/ingest" : "/api/log";
      // Its own key makes it one entry; an import may send the same message in other words.
      await ask(this.#config, "POST", path, { body: entry });
    } catch (fault) {
      if (!(fault instanceof Refused) || !NEVER.includes(fault.status)) throw fault;
      this.#logger?.warn(`carrel: an entry was refused (${fault.message})`);
      this.#outbox.refuse(waiting, fault.message);
    }
  }

  /** Return the id of a session's topic, made if there is none; one that exists stays as people made it. */
  async #topic(session        )                  {
    const id = `topic_session-${digest(session).slice(0, 24)}`;
    if (this.#topics.has(id)) return id;
    try {
      await ask(this.#config, "GET", `/api/topics/${id}`);
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 404) throw fault;
      const topic = { id, name: clip(session, 200), tags: ["openclaw"] };
      await ask(this.#config, "POST", "/api/topics", { body: topic, key: id });
    }
    this.#topics.add(id);
    return id;
  }
}
