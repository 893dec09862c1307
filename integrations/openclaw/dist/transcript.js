/** Messages of OpenClaw's transcripts: what they say, who says it, and what makes one of them that one. */

import { withoutContext } from "./entries.js";
import { digest } from "./sessions.js";

/** A message that a person or an agent said. */

/** Return what a message says; undefined when nobody said it: a tool's result, an event, an answer that broke off. */
export function saidIn(message         )                   {
  const { role, content, timestamp, stopReason, idempotencyKey, provenance } = (message ?? {})           ;
  if ((role !== "user" && role !== "assistant") || typeof timestamp !== "number") return undefined;
  // A model that died is asked again, and what it had said until then is not shown to anyone.
  if (stopReason === "error") return undefined;
  // What other sessions and the host itself put in is in a person's place, but no person said it.
  if (role === "user" && provenance?.kind !== undefined && provenance.kind !== "external_user") return undefined;
  const text = withoutContext(wordsOf(content));
  if (!text) return undefined;
  return { role, text, timestamp, isNamed: idempotencyKey !== undefined, isFinal: stopReason !== "toolUse" };
}

/**
 * Return the name of a message, the same one that an import of OpenClaw's store gives it.
 *
 * Of what is stored, hooks know the session's key, the role and the moment; texts are redacted after the hooks have run.
 */
export function identityOf(sessionKey        , { role, timestamp }                                  )         {
  return `openclaw:${digest([sessionKey, role, String(timestamp)].join("\n"))}`;
}

/** Return what was said in the last turn of a transcript: the question, and the answers after it. */
export function lastTurn(messages                    )         {
  const asked = messages.findLastIndex((message) => (message                  )?.role === "user");
  return messages.slice(Math.max(asked, 0)).map(saidIn).filter((said) => said !== undefined);
}

/** The text of a message, whose content is a string or a list of parts. */
function wordsOf(content         )         {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part                                           ) =>
    part?.type === "text" && typeof part.text === "string" ? part.text : "",
  );
  return texts.filter(Boolean).join("\n\n");
}
