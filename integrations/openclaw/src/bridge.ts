import type { Config } from "./config.ts";
import { ContextReader } from "./context.ts";
import type { Entry } from "./entries.ts";
import { Outbox } from "./outbox.ts";
import { Recorder } from "./recorder.ts";
import { Sender, type Logger } from "./sender.ts";
import { Turns } from "./turns.ts";

const SLOT = Symbol.for("carrel.openclaw.bridge");

/**
 * What the plugin keeps in a process.
 *
 * OpenClaw registers a plugin several times, each time from a module of its own, and calls some hooks of one registration
 * and some of another; so the bridge is not in a module but in the process.
 */
export class Bridge {
  readonly config: Config;
  readonly recorder: Recorder;
  readonly #logger: Logger | undefined;
  #open: { outbox: Outbox; sender: Sender } | undefined;

  constructor(config: Config, logger: Logger | undefined) {
    this.config = config;
    this.#logger = logger;
    const places = {
      place: (session: string) => this.#opened().outbox.place(session),
      setPlace: (session: string, conversation: string) => this.#opened().outbox.setPlace(session, conversation),
    };
    this.recorder = new Recorder(
      new Turns(config.ignoreSessionPrefixes, places),
      new ContextReader(config),
      (entry) => this.#keep(entry),
    );
  }

  /** Begin to send what waits. */
  start(): void {
    this.#opened();
  }

  async stop(): Promise<void> {
    const opened = this.#open;
    this.#open = undefined;
    await opened?.sender.stop();
    opened?.outbox.close();
  }

  #keep(entry: Entry): void {
    try {
      const { outbox, sender } = this.#opened();
      outbox.add(entry);
      sender.wake();
    } catch (fault) {
      this.#logger?.warn(`carrel: not recorded (${String(fault)})`);
    }
  }

  /** Open the outbox once something happens: a command that only lists plugins must not take over the sending. */
  #opened(): { outbox: Outbox; sender: Sender } {
    if (!this.#open) {
      const outbox = new Outbox(this.config.queuePath);
      this.#open = { outbox, sender: new Sender(outbox, this.config, this.#logger) };
    }
    return this.#open;
  }
}

type Process = typeof globalThis & { [SLOT]?: Bridge };

/** Return the bridge of this process; other settings make a new one. */
export function bridgeWith(config: Config, logger: Logger | undefined): Bridge {
  const process = globalThis as Process;
  const known = process[SLOT];
  if (known && JSON.stringify(known.config) === JSON.stringify(config)) return known;
  void known?.stop();
  process[SLOT] = new Bridge(config, logger);
  return process[SLOT];
}

/** Return the bridge of this process, as the newest settings have made it. */
export function bridgeNow(): Bridge | undefined {
  return (globalThis as Process)[SLOT];
}
