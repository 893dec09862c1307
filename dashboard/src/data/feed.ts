// One event stream for the whole browser. The tab that holds a Web Lock follows the stream and passes every frame on to the
// others, which take over where it stopped. Without Web Locks (an address that is neither https nor localhost) every tab
// follows the stream itself.

import { type CarrelEvent, type Frame, openStream } from "carrel-client";
import { useEffect, useSyncExternalStore } from "react";
import { api, server } from "./api";

export type Connection = "connecting" | "live" | "reconnecting" | "offline";
type Notice = { kind: "event"; event: CarrelEvent } | { kind: "reset"; seq: number };
type Passed = Notice | { kind: "state"; state: Connection } | { kind: "hello" };

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
const OFFLINE_AFTER_MS = 10_000;

export class Feed {
  #listeners = new Set<(notice: Notice) => void>();
  #stateListeners = new Set<() => void>();
  #state: Connection = "connecting";
  #stream: AbortController | null = null;
  #channel: BroadcastChannel | null = null;
  #last: number;
  #attempts = 0;
  #retryTimer = 0;
  #offlineTimer = 0;
  #leads = false;
  #ending = new AbortController();

  /**
   * Follow the events of this person behind an event, `last`, which is older than whatever a page reads; tabs of another
   * person in the same browser have a stream of their own.
   */
  constructor(readonly who: string, last: number) {
    this.#last = last;
  }

  get state(): Connection {
    return this.#state;
  }

  listen(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  listenState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  start(): void {
    const { signal } = this.#ending;
    window.addEventListener("online", () => this.#leads && this.#open(), { signal });
    window.addEventListener("offline", () => this.#leads && this.#lost(), { signal });
    if (!("locks" in navigator) || !("BroadcastChannel" in window)) return this.#lead();
    this.#channel = new BroadcastChannel(`carrel.feed.${this.who}`);
    this.#channel.onmessage = (message: MessageEvent<Passed>) => this.#heard(message.data);
    this.#pass({ kind: "hello" });
    const held = navigator.locks.request(`carrel.feed.${this.who}`, { signal }, () => {
      this.#lead();
      return new Promise<void>((release) => signal.addEventListener("abort", () => release()));
    });
    held.catch(() => {
      // Stopped before this tab's turn came.
    });
  }

  stop(): void {
    this.#ending.abort();
    this.#close();
    this.#channel?.close();
    clearTimeout(this.#offlineTimer);
  }

  #lead(): void {
    this.#leads = true;
    this.#open();
  }

  #pass(passed: Passed): void {
    this.#channel?.postMessage(passed);
  }

  #heard(passed: Passed): void {
    if (passed.kind === "hello") {
      if (this.#leads) this.#pass({ kind: "state", state: this.#state });
    } else if (passed.kind === "state") {
      this.#setState(passed.state);
    } else this.#take(passed);
  }

  #open(): void {
    this.#close();
    if (this.#ending.signal.aborted) return;
    this.#stream = new AbortController();
    void this.#follow(this.#stream);
  }

  async #follow(stream: AbortController): Promise<void> {
    try {
      for await (const frame of openStream(server, { lastEventId: this.#last, signal: stream.signal })) {
        if (stream !== this.#stream) return;
        this.#frame(frame);
      }
    } catch {
      // Cut off or refused: both are tried again, and a refusal is then shown by that request.
    }
    if (stream === this.#stream) this.#failed();
  }

  #frame(frame: Frame): void {
    if (frame.kind === "ready") this.#ready();
    else this.#both(frame);
  }

  #close(): void {
    clearTimeout(this.#retryTimer);
    this.#stream?.abort();
    this.#stream = null;
  }

  #ready(): void {
    this.#attempts = 0;
    clearTimeout(this.#offlineTimer);
    this.#offlineTimer = 0;
    this.#setState("live");
    this.#pass({ kind: "state", state: "live" });
  }

  #both(notice: Notice): void {
    this.#pass(notice);
    this.#take(notice);
  }

  #take(notice: Notice): void {
    if (notice.kind === "event") {
      if (notice.event.seq <= this.#last) return;
      this.#last = notice.event.seq;
    } else this.#last = notice.seq;
    this.#tell(notice);
  }

  #tell(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  #failed(): void {
    this.#lost();
    this.#close();
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#attempts) * (0.75 + Math.random() / 2);
    this.#attempts += 1;
    this.#retryTimer = window.setTimeout(() => this.#retry(), pause);
  }

  async #retry(): Promise<void> {
    // A refusal may mean that this browser is signed out; then this request leads to the sign-in page.
    const known = await api.GET("/api/auth/me").then(() => true, () => false);
    if (this.#ending.signal.aborted) return;
    if (known) this.#open();
    else this.#retryTimer = window.setTimeout(() => this.#retry(), Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#attempts++));
  }

  #lost(): void {
    if (this.#state !== "offline") this.#setState(navigator.onLine ? "reconnecting" : "offline");
    if (this.#offlineTimer === 0) this.#offlineTimer = window.setTimeout(() => this.#setState("offline"), OFFLINE_AFTER_MS);
    this.#pass({ kind: "state", state: this.#state });
  }

  #setState(state: Connection): void {
    if (state === this.#state) return;
    this.#state = state;
    if (this.#leads) this.#pass({ kind: "state", state });
    for (const listener of this.#stateListeners) listener();
  }
}

let current: Feed | null = null;

/** Start the feed of a person, in place of that of the last one. */
export function startFeed(who: string, last: number): Feed {
  current?.stop();
  current = new Feed(who, last);
  current.start();
  return current;
}

export function stopFeed(): void {
  current?.stop();
  current = null;
}

/** The state of the connection, for the shell. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (changed) => current?.listenState(changed) ?? (() => {}),
    () => current?.state ?? "connecting",
  );
}

/** Call `listener` with every event, and with null when the page has to be read anew. */
export function useEvents(listener: (event: CarrelEvent | null) => void): void {
  useEffect(() => current?.listen((notice) => listener(notice.kind === "event" ? notice.event : null)), [listener]);
}
