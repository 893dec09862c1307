// Turns the server's data into the transcript's items, in order. Pure: no elements, no requests.

import type { Message, Run, Shapes } from "../../data/api";
import { instant } from "../../data/words";

export type Line = {
  id: string;
  text: string;
  files: Shapes["NewFile"][];
  /** The run that it answers, or null. */
  answers: string | null;
  /** Whether it joins the turn that is under way. */
  steers: boolean;
  runId: string | null;
  state: "sending" | "accepted" | "refused";
  error: string;
  status: number;
};
export type Aside = { id: string; text: string; reply: string; at: number };
export type Words = { text: string; done: boolean };

export type Item =
  | { key: string; kind: "said"; message: Message; files: Shapes["FileShape"][]; receipt: string | null; asked: Shapes["Provenance"] | undefined }
  | { key: string; kind: "tool"; call: Message; result: Message | null }
  | { key: string; kind: "aside"; aside: Aside }
  | { key: string; kind: "ended"; run: Run; withMessage: boolean }
  | { key: string; kind: "asks"; run: Run; isShown: boolean; withMessage: boolean; byMessage: boolean }
  | { key: string; kind: "speaking"; run: Run | undefined; text: string; unspoken: string; working: boolean }
  | { key: string; kind: "queued"; run: Run; inTranscript: boolean }
  | { key: string; kind: "unsent"; line: Line };

export type Parts = {
  messages: Message[];
  runs: Map<string, Run>;
  running: Run | null;
  queued: Run[];
  live: Map<string, Words>;
  unsent: Line[];
  /** Replies to commands, which the journal does not store. */
  asides: Aside[];
  /** The run that the next message answers. */
  asking: Run | null;
};

const NO_FILES: Shapes["FileShape"][] = [];

/** Return the items, each as the very object it was before if nothing of it changed, so that it is not drawn again. */
export function reused(before: Item[], now: Item[]): Item[] {
  const known = new Map(before.map((item) => [item.key, item]));
  return now.map((item) => {
    const same = known.get(item.key);
    return same !== undefined && isEqual(same, item) ? same : item;
  });
}

function isEqual(one: object, other: object): boolean {
  const values: Record<string, unknown> = { ...other };
  return Object.entries(one).every(([name, value]) => values[name] === value);
}

type Dated = { at: number; item: Item };
type ByRun = Map<string, Message[]>;

/** Return the text of a message, whatever its parts. */
export function textOf(message: Message): string {
  return message.content.map((part) => ("text" in part ? part.text : "")).filter((text) => text !== "").join("\n");
}

/** Merge messages, runs, partial replies, queue and unsent messages into one list of items with stable keys. */
export function itemsOf(parts: Parts): Item[] {
  const ofRun = groupByRun(parts.messages);
  const dated: Dated[] = [
    ...messageItems(parts, ofRun),
    ...parts.asides.map((aside): Dated => ({ at: aside.at, item: { key: aside.id, kind: "aside", aside } })),
    ...outsideTranscript(parts, ofRun),
  ];
  dated.sort((one, other) => one.at - other.at);
  return [
    ...dated.map((entry) => entry.item),
    ...speaking(parts, ofRun),
    ...parts.queued.map((run): Item => ({ key: `queued-${run.id}`, kind: "queued", run, inTranscript: ofRun.has(run.id) })),
    ...parts.unsent.map((line): Item => ({ key: `unsent-${line.id}`, kind: "unsent", line })),
  ];
}

function groupByRun(messages: Message[]): ByRun {
  const ofRun: ByRun = new Map();
  for (const message of messages) {
    if (message.runId === null) continue;
    const known = ofRun.get(message.runId);
    if (known === undefined) ofRun.set(message.runId, [message]);
    else known.push(message);
  }
  return ofRun;
}

function messageItems(parts: Parts, ofRun: ByRun): Dated[] {
  const dated: Dated[] = [];
  // Calls without a result yet: an agent may make several at once.
  const open = new Map<string, Extract<Item, { kind: "tool" }>>();
  for (const message of parts.messages) {
    const at = instant(message.timestamp) ?? 0;
    const call = message.role === "toolResult" ? open.get(callId(message)) : undefined;
    if (call !== undefined) {
      call.result = message;
      open.delete(callId(message));
    } else if (message.role === "toolCall" || message.role === "toolResult") {
      const item: Extract<Item, { kind: "tool" }> = { key: message.id, kind: "tool", call: message, result: message.role === "toolResult" ? message : null };
      open.set(callId(message), item);
      dated.push({ at, item });
    } else if (!isApproval(message, parts.runs)) dated.push({ at, item: saidItem(message, parts.runs, ofRun) });
    const ending = endingAfter(message, parts, ofRun);
    if (ending !== null) dated.push({ at, item: ending });
  }
  return dated;
}

function saidItem(message: Message, runs: Map<string, Run>, ofRun: ByRun): Item {
  const run = runs.get(message.runId ?? "");
  const ids = message.content.flatMap((part) => ("attachmentId" in part ? [part.attachmentId] : []));
  const known = new Map(run?.message.attachments.map((file) => [file.id, file]));
  const files = ids.length === 0 ? NO_FILES : ids.map((id) => known.get(id) ?? { id, fileName: "File", mimeType: "", sizeBytes: 0, sha256: "" });
  const asked = ofRun.get(message.runId ?? "")?.[0]?.provenance;
  return { key: message.id, kind: "said", message, files, receipt: receiptOf(message, runs, ofRun), asked };
}

/** Return what a call and its result have in common. */
function callId({ runId, content }: Message): string {
  const [part] = content;
  const id = part && "toolCallId" in part ? part.toolCallId : part && "id" in part ? part.id : "";
  return `${runId}/${id}`;
}

/** Return the run whose receipt is shown under this message: its last reply, once it has ended. */
function receiptOf(message: Message, runs: Map<string, Run>, ofRun: ByRun): string | null {
  if (message.role !== "assistant" || message.runId === null) return null;
  const lastReply = ofRun.get(message.runId)?.findLast((each) => each.role === "assistant");
  const state = runs.get(message.runId)?.state;
  return lastReply === message && state !== "running" && state !== "queued" ? message.runId : null;
}

/** Return the item after a run's last message: that it failed, was cancelled or asks something. */
function endingAfter(message: Message, { runs, asking }: Parts, ofRun: ByRun): Item | null {
  const run = runs.get(message.runId ?? "");
  if (run === undefined || ofRun.get(run.id)?.at(-1) !== message) return null;
  if (run.state === "waiting") return asksItem(run, asking, { isShown: run.waitingFor !== "approval" && isShown(run, ofRun), withMessage: false });
  return hasEndedBadly(run) ? { key: `ended-${run.id}`, kind: "ended", run, withMessage: false } : null;
}

const hasEndedBadly = (run: Run): boolean => run.state === "failed" || run.state === "cancelled";

function asksItem(run: Run, asking: Run | null, more: { isShown: boolean; withMessage: boolean }): Item {
  return { key: `asks-${run.id}`, kind: "asks", run, byMessage: run.id === asking?.id, ...more };
}

/** Tell whether a message is the open question of an approval, which is shown with its buttons. */
function isApproval(message: Message, runs: Map<string, Run>): boolean {
  const run = runs.get(message.runId ?? "");
  return run?.state === "waiting" && run.waitingFor === "approval" && message.role === "assistant" && textOf(message) === run.note;
}

/** Tell whether the transcript already shows the question. */
function isShown(run: Run, ofRun: ByRun): boolean {
  const question = run.reply || run.note;
  return ofRun.get(run.id)?.some((message) => message.role === "assistant" && textOf(message) === question) ?? false;
}

/** Return items for runs that ended or ask something before their message entered the transcript. */
function outsideTranscript({ messages, runs, asking }: Parts, ofRun: ByRun): Dated[] {
  const oldest = instant(messages[0]?.timestamp) ?? 0;
  const dated: Dated[] = [];
  for (const run of runs.values()) {
    const at = instant(run.createdAt) ?? 0;
    if (ofRun.has(run.id) || at < oldest) continue;
    if (hasEndedBadly(run)) dated.push({ at, item: { key: `ended-${run.id}`, kind: "ended", run, withMessage: true } });
    else if (run.state === "waiting") dated.push({ at, item: asksItem(run, asking, { isShown: false, withMessage: true }) });
  }
  return dated;
}

/** Return the replies being written, and those just finished whose entry has not been loaded yet. */
function speaking({ running, runs, live }: Parts, ofRun: ByRun): Item[] {
  const items: Item[] = [];
  for (const id of new Set([...live.keys(), ...(running ? [running.id] : [])])) {
    const working = running?.id === id;
    const run = working ? running : runs.get(id);
    const said = (ofRun.get(id) ?? []).filter((message) => message.role === "assistant").map(textOf);
    const text = withoutSaid(live.get(id)?.text ?? "", said);
    if (!working && (text === "" || said.length > 0)) continue;
    const unspoken = working && !ofRun.has(id) ? running.message.text : "";
    items.push({ key: `speaking-${id}`, kind: "speaking", run: run ?? undefined, text, unspoken, working });
  }
  return items;
}

/** Return the streamed text that is not in the transcript yet; earlier steps of the turn may be. */
function withoutSaid(text: string, said: string[]): string {
  let rest = text;
  for (const words of said) {
    const trimmed = rest.trimStart();
    if (words !== "" && trimmed.startsWith(words)) rest = trimmed.slice(words.length);
  }
  return rest.trim() === "" ? "" : rest;
}
