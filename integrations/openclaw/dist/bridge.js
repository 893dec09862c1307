import { ContextReader } from "./context.js";

import { Outbox } from "./outbox.js";
import { Recorder } from "./recorder.js";
import { Sender,             } from "./sender.js";
import { Turns } from "./turns.js";

const SLOT = Symbol.for("carrel.openclaw.bridge");

/**
 * What the plugin keeps in a process.
 *
 * OpenClaw registers a plugin several times, each time from a module of its own, and calls some hooks of one registration
 * and some of another; so the bridge is not in a module but in the process.
 */
export class Bridge {
           config        ;
           recorder          ;
           #logger                    ;
  #open                                                ;

  constructor(config        , logger                    ) {
    this.config = config;
    this.#logger = logger;
    const places = {
      place: (session        ) => this.#opened().outbox.place(session),
      setPlace: (session        , conversation        ) => this.#opened().outbox.setPlace(session, conversation),
    };
    this.recorder = new Recorder(
      new Turns(config.ignoreSessionPrefixes, places),
      new ContextReader(config),
      (entry) => this.#keep(entry),
    );
  }

  /** Begin to send what waits. */
  start()       {
    this.#opened();
  }

  async stop()                {
    const opened = this.#open;
    this.#open = undefined;
    await opened?.sender.stop();
    opened?.outbox.close();
  }

  #keep(entry       )       {
    try {
      const { outbox, sender } = this.#opened();
      outbox.add(entry);
      sender.wake();
    } catch (fault) {
      this.#logger?.warn(`carrel: not recorded (${String(fault)})`);
    }
  }

  /** Open the outbox once something happens: a command that only lists plugins must not take over the sending. */
  #opened()                                     {
    if (!this.#open) {
      const outbox = new Outbox(this.config.queuePath);
      this.#open = { outbox, sender: new Sender(outbox, this.config, this.#logger) };
    }
    return this.#open;
  }
}

/** Return the bridge of this process; other settings make a new one. */
export function bridgeWith(config        , logger                    )         {
  const process = globalThis           ;
  const known = process[SLOT];
  if (known && JSON.stringify(known.config) === JSON.stringify(config)) return known;
  void known?.stop();
  process[SLOT] = new Bridge(config, logger);
  return process[SLOT];
}

/** Return the bridge of this process, as the newest settings have made it. */
export function bridgeNow()                     {
  return (globalThis           )[SLOT];
}
