import { boardKey, fittedKey, foreignKey, hasPrefix, isOwnSession } from "./sessions.js";
import { identityOf,           } from "./transcript.js";

const SESSIONS_MAX = 1_000;
const KNOWN_MAX = 200;

/** Remembers conversations of sessions beyond the life of the process. */

/** What is going on in a session of OpenClaw, and its name on the board. */
export class Turn {
           key        ;
  session        ;
  channel = "openclaw";
  /** Questions since the last answer, or since the one that was answered last. */
  asked         = [];
  isAnswered = false;
  isWritten = false;
  isBackground = false;
  /** Ends in that what a turn's end has told is recorded, unless it is written before. */
  unwritten                 ;
  context                                               ;
           #known = new Set        ();

  constructor(key        , session        ) {
    this.key = key;
    this.session = session;
  }

  /** Whether something was not said before; a question that is put to the model once more is not new. */
  isNews(said      )          {
    const identity = identityOf(this.key, said);
    if (this.#known.has(identity)) return false;
    if (said.role === "user" && this.#isRepeated(said)) return false;
    this.#known.add(identity);
    for (const oldest of this.#known) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(oldest);
    }
    if (said.role === "user") {
      this.asked = this.isAnswered ? [said] : [...this.asked, said];
      this.isAnswered = false;
    } else if (said.isFinal) {
      this.isAnswered = true;
    }
    return true;
  }

  #isRepeated({ text, isNamed }      )          {
    return !isNamed && !this.isAnswered && this.asked.some((one) => one.text === text);
  }
}

/** The sessions of OpenClaw that are recorded, by their keys there. */
export class Turns {
           #turns = new Map              ();
           #disowned = new Set        ();
           #ignored                   ;
           #places        ;

  constructor(ignored                   , places        ) {
    this.#ignored = ignored;
    this.#places = places;
  }

  /** Return the turn of a session; undefined when nothing of it is recorded. */
  of(key                    )                   {
    if (!key || this.#disowned.has(key) || isOwnSession(key) || hasPrefix(key, this.#ignored)) return undefined;
    const turn = this.#turns.get(key) ?? new Turn(key, boardKey(key) ?? this.#places.place(key) ?? foreignKey(key));
    this.#turns.delete(key);
    this.#turns.set(key, turn);
    const oldest = this.#turns.keys().next().value;
    if (this.#turns.size > SESSIONS_MAX && oldest !== undefined) this.#turns.delete(oldest);
    return turn;
  }

  /** A session takes place in a conversation of a provider; a chat of the board stays one. */
  locate(key        , conversation        , thread         , channel                    )       {
    const turn = this.of(key);
    if (!turn || boardKey(key)) return;
    turn.channel = channel ?? turn.channel;
    const within = typeof thread === "string" || typeof thread === "number" ? `|thread:${thread}` : "";
    const session = fittedKey(`${conversation}${within}`);
    if (turn.session === session) return;
    turn.session = session;
    this.#places.setPlace(key, session);
  }

  /** The server is behind a session, so that nothing of it is recorded. */
  disown(key        )       {
    this.#turns.delete(key);
    this.#disowned.add(key);
  }
}
