// The page's event stream: follows /api/stream from a cursor and reports the state of the connection.

import { get, url } from "./api.js";

const NAMES = [
  "run.queued", "run.started", "run.waiting", "run.completed", "run.failed", "run.cancelled", "run.retrying",
  "run.rescued", "run.progress", "session.opened", "session.closed", "session.updated", "session.deleted",
  "log.appended", "agent.updated", "notification.created", "notification.read",
];

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const OFFLINE_AFTER_MS = 10_000;
// A browser allows six connections per server, so a hidden tab closes its own.
const HIDDEN_PAUSE_MS = 30_000;

/** One EventSource for all listeners, which receive `{reread: true}` or `{event}`. */
export class Feed {
  #listeners = new Set();
  #stateListeners = new Set();
  #source = null;
  #last = null;
  #attempts = 0;
  #state = "connecting";
  #retryTimer = 0;
  #offlineTimer = 0;
  #hiddenTimer = 0;
  #ending = new AbortController();

  get state() {
    return this.#state;
  }

  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  listenState(listener) {
    this.#stateListeners.add(listener);
    listener(this.#state);
    return () => this.#stateListeners.delete(listener);
  }

  start() {
    const { signal } = this.#ending;
    document.addEventListener("visibilitychange", () => this.#visibilityChanged(), { signal });
    window.addEventListener("online", () => this.#open(), { signal });
    window.addEventListener("offline", () => this.#lost(), { signal });
    this.#open();
  }

  stop() {
    this.#ending.abort();
    this.#close();
    clearTimeout(this.#hiddenTimer);
    clearTimeout(this.#offlineTimer);
  }

  #open() {
    this.#close();
    if (this.#ending.signal.aborted) return;
    const source = new EventSource(url("/api/stream", { events: NAMES.join(","), lastEventId: this.#last }));
    this.#source = source;
    source.addEventListener("stream.ready", (frame) => this.#ready(frame));
    source.addEventListener("stream.reset", (frame) => this.#reset(frame));
    for (const name of NAMES) source.addEventListener(name, (frame) => this.#received(frame));
    source.onerror = () => this.#failed(source);
  }

  #close() {
    clearTimeout(this.#retryTimer);
    this.#source?.close();
    this.#source = null;
  }

  #ready(frame) {
    const { seq } = JSON.parse(frame.data);
    // Without a cursor the stream starts now; with one it replays what was missed, so the cursor stays.
    if (this.#last === null) this.#last = seq;
    this.#attempts = 0;
    clearTimeout(this.#offlineTimer);
    this.#offlineTimer = 0;
    this.#setState("live");
    this.#notify({ reread: true });
  }

  #reset(frame) {
    this.#last = JSON.parse(frame.data).seq;
    this.#notify({ reread: true });
  }

  #received(frame) {
    const event = JSON.parse(frame.data);
    if (this.#last !== null && event.seq <= this.#last) return;
    this.#last = event.seq;
    this.#notify({ event });
  }

  #failed(source) {
    if (source !== this.#source) return;
    this.#lost();
    // The browser reconnects after a drop, but not after a refusal.
    if (source.readyState === EventSource.CLOSED) this.#retryLater();
  }

  #lost() {
    if (this.#state === "live" || this.#state === "connecting") this.#setState("reconnecting");
    if (navigator.onLine === false) this.#setState("offline");
    else if (this.#offlineTimer === 0) {
      this.#offlineTimer = setTimeout(() => this.#setState("offline"), OFFLINE_AFTER_MS);
    }
  }

  #retryLater() {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#attempts) * (0.75 + Math.random() / 2);
    this.#attempts += 1;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#retry(), pause);
  }

  async #retry() {
    // A refusal may mean that we are signed out; then this request leads to the sign-in page.
    const known = await get("/api/auth/me").then(() => true, () => false);
    if (this.#ending.signal.aborted) return;
    if (known) this.#open();
    else this.#retryLater();
  }

  #visibilityChanged() {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === "hidden") {
      this.#hiddenTimer = setTimeout(() => {
        this.#close();
        this.#setState("reconnecting");
      }, HIDDEN_PAUSE_MS);
    } else if (this.#source === null) this.#open();
  }

  #setState(state) {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener(state);
  }

  #notify(notice) {
    for (const listener of this.#listeners) listener(notice);
  }
}
