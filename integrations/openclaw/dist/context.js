import { asContext, CONTEXT_AROUND_CHARS, isControlText } from "./entries.js";
import { ask } from "./server.js";

const QUERY_CHARS_MAX = 500;

/** Fetches the contexts of turns from the server. */
export class ContextReader {
           #config        ;

  constructor(config        ) {
    this.#config = config;
  }

  /** Return the context of a session for a question, without the entries of that question; empty if not in time. */
  async fetch(session        , question        , known                   )                  {
    const config = this.#config;
    const charsMax = config.contextMaxChars - CONTEXT_AROUND_CHARS;
    if (!config.contextAugment || charsMax <= 0) return "";
    const query = new URLSearchParams({
      sessionKey: session,
      q: isControlText(question) ? "" : question.slice(0, QUERY_CHARS_MAX),
      mode: config.contextMode,
      maxChars: String(charsMax),
      topicLimit: String(config.contextTopicLimit),
      taskLimit: String(config.contextTaskLimit),
      logLimit: String(config.contextLogLimit),
      ...(known.length ? { withoutKeys: known.join(",") } : {}),
    });
    try {
      const answer = await ask(config, "GET", `/api/context?${query}`, { timeoutMs: config.contextFetchTimeoutMs });
      const { block } = answer                      ;
      return block ? asContext(block) : "";
    } catch {
      // The turn goes on without it.
      return "";
    }
  }
}
