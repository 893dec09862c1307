// Turns the server's data into the transcript's items, in order. Pure: no elements, no requests.

import { instant } from "../format.js";

const ENDED_BADLY = new Set(["failed", "cancelled"]);

/** Return the text of a message, whatever its parts. */
export function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).filter((part) => typeof part.text === "string").map((part) => part.text).join("\n");
}

/**
 * Merge messages, runs, partial replies, queue and unsent messages into one list of items with stable keys.
 * `live` maps a run's id to `{text, done}`; `asides` are replies to commands, which the journal does not store; `asking`
 * is the run that the next message answers.
 */
export function itemsOf({ messages, runs, running, queued, live, unsent, asides, asking }) {
  const ofRun = groupByRun(messages);
  const dated = [
    ...messageItems(messages, runs, ofRun, asking),
    ...asides.map((aside) => ({ at: aside.at, item: { key: aside.id, kind: "aside", ...aside } })),
    ...outsideTranscript(messages, runs, ofRun, asking),
  ];
  dated.sort((one, other) => one.at - other.at);
  const items = dated.map((entry) => entry.item);
  items.push(...speaking(running, runs, ofRun, live));
  for (const run of queued) items.push({ key: `queued-${run.id}-${ofRun.has(run.id)}`, kind: "queued", run, inTranscript: ofRun.has(run.id) });
  for (const line of unsent) items.push({ key: `unsent-${line.id}`, kind: "unsent", line });
  return items;
}

function groupByRun(messages) {
  const ofRun = new Map();
  for (const message of messages) {
    if (!message.runId) continue;
    if (!ofRun.has(message.runId)) ofRun.set(message.runId, []);
    ofRun.get(message.runId).push(message);
  }
  return ofRun;
}

function messageItems(messages, runs, ofRun, asking) {
  const dated = [];
  // Calls without a result yet: an agent may make several at once.
  const open = new Map();
  for (const message of messages) {
    const at = instant(message.timestamp) ?? 0;
    const call = message.role === "toolResult" ? open.get(callId(message)) : undefined;
    if (call !== undefined) {
      call.result = message;
      open.delete(callId(message));
    } else if (message.role === "toolCall" || message.role === "toolResult") {
      const item = { key: message.id, kind: "tool", call: message, result: null };
      open.set(callId(message), item);
      dated.push({ at, item });
    } else {
      if (!isApproval(message, runs)) dated.push({ at, item: { key: message.id, kind: "said", message, receipt: receiptOf(message, runs, ofRun), asked: ofRun.get(message.runId)?.[0].provenance } });
    }
    const ending = endingAfter(message, runs, ofRun, asking);
    if (ending !== null) dated.push({ at, item: ending });
  }
  return dated;
}

/** Return what a call and its result have in common. */
function callId({ runId, content }) {
  const { id, toolCallId } = content?.[0] ?? {};
  return `${runId}/${toolCallId ?? id ?? ""}`;
}

/** Return the run whose receipt is shown under this message: its last reply, once it has ended. */
function receiptOf(message, runs, ofRun) {
  if (message.role !== "assistant" || !message.runId) return null;
  const lastReply = ofRun.get(message.runId).findLast((each) => each.role === "assistant");
  const state = runs.get(message.runId)?.state;
  return lastReply === message && state !== "running" && state !== "queued" ? message.runId : null;
}

/** Return the item after a run's last message: that it failed, was cancelled or asks something. */
function endingAfter(message, runs, ofRun, asking) {
  const run = runs.get(message.runId);
  if (run === undefined || ofRun.get(run.id).at(-1) !== message) return null;
  if (run.state === "waiting") return asksItem(run, asking, { isShown: run.waitingFor !== "approval" && isShown(run, ofRun) });
  return ENDED_BADLY.has(run.state) ? { key: `ended-${run.id}`, kind: "ended", run } : null;
}

function asksItem(run, asking, more) {
  const byMessage = run.id === asking?.id;
  return { key: `asks-${run.id}-${byMessage}`, kind: "asks", run, byMessage, ...more };
}

/** Tell whether a message is the open question of an approval, which is shown with its buttons. */
function isApproval(message, runs) {
  const run = runs.get(message.runId);
  return run?.state === "waiting" && run.waitingFor === "approval" && message.role === "assistant" && textOf(message) === run.note;
}

/** Tell whether the transcript already shows the question. */
function isShown(run, ofRun) {
  const question = run.reply || run.note;
  return ofRun.get(run.id).some((message) => message.role === "assistant" && textOf(message) === question);
}

/** Return items for runs that ended or ask something before their message entered the transcript. */
function outsideTranscript(messages, runs, ofRun, asking) {
  const oldest = messages.length > 0 ? (instant(messages[0].timestamp) ?? 0) : 0;
  const dated = [];
  for (const run of runs.values()) {
    const at = instant(run.createdAt) ?? 0;
    if (ofRun.has(run.id) || at < oldest) continue;
    if (ENDED_BADLY.has(run.state)) dated.push({ at, item: { key: `ended-${run.id}`, kind: "ended", run, withMessage: true } });
    else if (run.state === "waiting") dated.push({ at, item: asksItem(run, asking, { withMessage: true }) });
  }
  return dated;
}

/** Return the replies being written, and those just finished whose entry has not been loaded yet. */
function speaking(running, runs, ofRun, live) {
  const items = [];
  const ids = new Set([...live.keys(), ...(running ? [running.id] : [])]);
  for (const id of ids) {
    const run = running?.id === id ? running : runs.get(id);
    const words = live.get(id) ?? { text: "", done: false };
    const said = (ofRun.get(id) ?? []).filter((message) => message.role === "assistant").map(textOf);
    const text = withoutSaid(words.text, said);
    if (running?.id !== id && (text === "" || said.length > 0)) continue;
    const unspoken = running?.id === id && !ofRun.has(id) ? (run.message?.text ?? "") : "";
    items.push({ key: `speaking-${id}`, kind: "speaking", runId: id, run, text, unspoken, working: running?.id === id });
  }
  return items;
}

/** Return the streamed text that is not in the transcript yet; earlier steps of the turn may be. */
function withoutSaid(text, said) {
  let rest = text;
  for (const words of said) {
    const trimmed = rest.trimStart();
    if (words !== "" && trimmed.startsWith(words)) rest = trimmed.slice(words.length);
  }
  return rest.trim() === "" ? "" : rest;
}
