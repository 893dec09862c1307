// From what the server says to what a transcript shows, in order. Pure: no elements, no requests.

import { instant } from "../words.js";

const ENDED_BADLY = new Set(["failed", "cancelled"]);

/** The text of a message, whatever parts it has. */
export function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).filter((part) => typeof part.text === "string").map((part) => part.text).join("\n");
}

/**
 * Put messages, runs, half-heard answers, queue and unsent lines into one list of items with stable keys.
 * `live` maps a run's id to `{text, done}`; `asides` are replies to commands, which the journal does not keep.
 */
export function itemsOf({ messages, runs, running, queued, live, unsent, asides }) {
  const heard = byRun(messages);
  const dated = [
    ...messageItems(messages, runs, heard),
    ...asides.map((aside) => ({ at: aside.at, item: { key: aside.id, kind: "aside", ...aside } })),
    ...unheard(messages, runs, heard),
  ];
  dated.sort((one, other) => one.at - other.at);
  const items = dated.map((entry) => entry.item);
  items.push(...speaking(running, runs, heard, live));
  for (const run of queued) items.push({ key: `queued-${run.id}-${heard.has(run.id)}`, kind: "queued", run, heard: heard.has(run.id) });
  for (const line of unsent) items.push({ key: `unsent-${line.id}`, kind: "unsent", line });
  return items;
}

function byRun(messages) {
  const heard = new Map();
  for (const message of messages) {
    if (!message.runId) continue;
    if (!heard.has(message.runId)) heard.set(message.runId, []);
    heard.get(message.runId).push(message);
  }
  return heard;
}

function messageItems(messages, runs, heard) {
  const dated = [];
  let call = null;
  for (const message of messages) {
    const at = instant(message.timestamp) ?? 0;
    if (message.role === "toolResult" && call !== null) {
      call.result = message;
      call = null;
    } else if (message.role === "toolCall" || message.role === "toolResult") {
      call = { key: message.id, kind: "tool", call: message, result: null };
      dated.push({ at, item: call });
    } else {
      call = null;
      dated.push({ at, item: { key: message.id, kind: "said", message, receipt: receiptOf(message, runs, heard), asked: heard.get(message.runId)?.[0].provenance } });
    }
    const ending = endingAfter(message, runs, heard);
    if (ending !== null) dated.push({ at, item: ending });
  }
  return dated;
}

/** The run whose receipt belongs under this message: its last words, once it has ended. */
function receiptOf(message, runs, heard) {
  if (message.role !== "assistant" || !message.runId) return null;
  const lastWords = heard.get(message.runId).findLast((each) => each.role === "assistant");
  const state = runs.get(message.runId)?.state;
  return lastWords === message && state !== "running" && state !== "queued" ? message.runId : null;
}

/** What to say about a run after its last message: that it failed, was cancelled, or asks. */
function endingAfter(message, runs, heard) {
  const run = runs.get(message.runId);
  if (run === undefined || heard.get(run.id).at(-1) !== message) return null;
  if (run.state === "waiting") return { key: `asks-${run.id}`, kind: "asks", run, told: asked(run, heard) };
  return ENDED_BADLY.has(run.state) ? { key: `ended-${run.id}`, kind: "ended", run } : null;
}

/** Whether the transcript already holds the question. */
function asked(run, heard) {
  const question = run.reply || run.note;
  return heard.get(run.id).some((message) => message.role === "assistant" && textOf(message) === question);
}

/** Runs that ended or ask without having been heard by the session. */
function unheard(messages, runs, heard) {
  const oldest = messages.length > 0 ? (instant(messages[0].timestamp) ?? 0) : 0;
  const dated = [];
  for (const run of runs.values()) {
    const at = instant(run.createdAt) ?? 0;
    if (heard.has(run.id) || at < oldest) continue;
    if (ENDED_BADLY.has(run.state)) dated.push({ at, item: { key: `ended-${run.id}`, kind: "ended", run, unheard: true } });
    else if (run.state === "waiting") dated.push({ at, item: { key: `asks-${run.id}`, kind: "asks", run, unheard: true } });
  }
  return dated;
}

/** The answers being spoken now, and those just ended whose entry has not been read yet. */
function speaking(running, runs, heard, live) {
  const items = [];
  const ids = new Set([...live.keys(), ...(running ? [running.id] : [])]);
  for (const id of ids) {
    const run = running?.id === id ? running : runs.get(id);
    const words = live.get(id) ?? { text: "", done: false };
    const said = (heard.get(id) ?? []).filter((message) => message.role === "assistant").map(textOf);
    const text = withoutSaid(words.text, said);
    if (running?.id !== id && (text === "" || said.length > 0)) continue;
    const unspoken = running?.id === id && !heard.has(id) ? (run.message?.text ?? "") : "";
    items.push({ key: `speaking-${id}`, kind: "speaking", runId: id, run, text, unspoken, working: running?.id === id });
  }
  return items;
}

/** The words of a stream that are not yet in the transcript: earlier steps of the same turn may be. */
function withoutSaid(text, said) {
  let rest = text;
  for (const words of said) {
    const trimmed = rest.trimStart();
    if (words !== "" && trimmed.startsWith(words)) rest = trimmed.slice(words.length);
  }
  return rest.trim() === "" ? "" : rest;
}
