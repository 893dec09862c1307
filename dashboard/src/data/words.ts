// Values as people read them: names of sessions, ages, states and reasons. Pure functions.

import type { Run, Session, Shapes } from "./api";

const CHANNELS: Record<string, string> = { web: "Web chat", webchat: "Web chat", telegram: "Telegram", cli: "Terminal chat" };

const KINDS: Record<string, string> = {
  task: "Task", topic: "Topic", cron: "Schedule", hook: "Hook", subagent: "Sub-agent", openresponses: "Responses call",
};

/** Split a canonical session key into agent and rest; other keys have no agent. */
export function splitKey(key: string): { agent: string; rest: string } {
  const match = /^agent:([^:]+):(.+)$/.exec(key);
  return { agent: match?.[1] ?? "", rest: match?.[2] ?? key };
}

/** Return what kind of session a key names: "Task", "Web chat", "Main lane". */
export function kindOfKey(key: string): string {
  const head = /^[a-z0-9]+/.exec(splitKey(key).rest)?.[0] ?? "";
  return head === "main" ? "Main lane" : (CHANNELS[head] ?? KINDS[head] ?? (head === "a2a" ? "A2A" : capital(head)));
}

/** Return what a session's key says about it, for where no title is at hand: "Main lane", "Telegram group 7". */
export function nameOfKey(key: string): string {
  const { rest } = splitKey(key);
  if (rest === "main") return "Main lane";
  const node = /^node-(.+)$/.exec(rest);
  if (node?.[1]) return `Node ${short(node[1])}`;
  const [head = "", ...tail] = rest.split(":");
  if (head === "web" && tail.length === 1) return "Web chat";
  if (head === "a2a") return `A2A ${short(tail.slice(1).join(":"))}`;
  if (head === "openresponses-user") return `Responses user ${short(tail.slice(1).join(":"))}`;
  if (KINDS[head] && tail.length > 0) return `${KINDS[head]} ${short(tail.join(":"))}`;
  return [CHANNELS[head] ?? capital(head), ...tail.map(short)].join(" ").trim();
}

/** Return what a person would call a session. */
export const titleOfSession = (session: Partial<Session> & { key: string }): string =>
  session.displayName || session.title || session.label || nameOfKey(session.key);

/** Return what a person would call a run. */
export const titleOfRun = (run: Run): string => run.title || run.label || firstLine(run.message.text, 80) || nameOfKey(run.sessionKey);

/** Return how a run's page names its session: by its title, unless that is the run's own. */
export const sessionOfRun = (run: Run): string => (run.sessionTitle === titleOfRun(run) ? "Its session" : run.sessionTitle);

export type SessionState = "idle" | "busy" | "waiting" | "closed";

/** Return the state of a session: one whose agent asked a person something is waiting, not idle. */
export const stateOfSession = ({ state, waitingFor }: Pick<Session, "state" | "waitingFor">): SessionState =>
  state === "idle" && waitingFor ? "waiting" : state;

function short(text: string): string {
  return text.length > 18 ? `${text.slice(0, 12)}…` : text;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Return the first line that is not blank, shortened to `most` characters. */
export function firstLine(text: string | null | undefined, most = 160): string {
  const line = (text ?? "").split("\n").find((each) => each.trim() !== "")?.trim() ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Return a duration in its largest unit. */
export function span(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Convert an API time (ISO text or milliseconds) to milliseconds; null when there is none. */
export function instant(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined || value === "") return null;
  const milliseconds = typeof value === "number" ? value : Date.parse(value);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** Return how to write times. The format is made with the first text: making one takes longer than the rest of many rows. */
export function timeFormat(options: Intl.DateTimeFormatOptions): (at: number) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (at) => (format ??= new Intl.DateTimeFormat(undefined, options)).format(at);
}

const COUNT = new Intl.NumberFormat("en");

/** Return a time as people write it, to the second. */
export const moment = timeFormat({ dateStyle: "medium", timeStyle: "medium" });

/** Return a day without its year. */
export const dayOf = timeFormat({ month: "short", day: "numeric" });

/** The codes of runs that are held: their message says until when. */
const HELD = new Set(["budget_used_up", "loop_suspected"]);

/** Whether the session of a run is held because it does nothing new any more. */
export const isLooping = (run: Run): boolean => run.state === "queued" && run.lastFault?.code === "loop_suspected";

/** Return which attempt of a run failed, why, and when the next one starts; empty when none did. */
export function faultOf(run: Run | undefined): string {
  const fault = run?.lastFault as (Shapes["LastFault"] & { unreachableSince?: string | null }) | null | undefined;
  if (!run || !fault) return "";
  const why = `${fault.message.replace(/[. ]+$/, "")}.`;
  if (HELD.has(fault.code)) return why;
  const said = fault.unreachableSince
    ? `${why} The message is kept and answered when it can be reached.`
    : `Attempt ${fault.attempt} of ${run.attemptsMax} failed: ${why}`;
  return fault.nextAttemptAt ? `${said} Next try at ${new Date(fault.nextAttemptAt).toLocaleTimeString()}.` : said;
}

/** Return a count with its noun. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${COUNT.format(count)} ${count === 1 ? one : many}`;

/** Return a large number in few characters: 950, 12.3 k, 4.1 M. */
export function compact(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 99_950 ? 1 : 0)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

const REASONS: Record<string, string> = {
  task_done: "its task is done",
  task_archived: "its task was archived",
  user_cancelled: "cancelled by a user",
  stopped: "stopped",
  timeout: "it exceeded its time limit",
  interrupted: "it was interrupted",
  dead_letter: "every attempt failed",
  rejected: "the agent declined",
  account_mismatch: "it belongs to another account",
  policy: "the send policy does not allow it",
  agent_disabled: "the agent is disabled",
  expired: "no answer came in time",
  continued: "its program continued without it",
  draining: "the server was stopping",
};

/** Return why a run ended, as a sentence without the period. */
export function whyEnded(run: Pick<Run, "error" | "reason">): string {
  const error = run.error?.message ?? "";
  // The last error says more than "every attempt failed".
  const useful = run.reason !== null && !(run.reason === "dead_letter" && error !== "");
  const reason = useful && run.reason ? (REASONS[run.reason] ?? run.reason) : "";
  return [reason, error].filter((part) => part !== "").join(": ") || "no reason was given";
}

const WAITS: Record<string, string> = {
  input: "has a question", auth: "needs you to sign in", approval: "needs your approval", tool_output: "is waiting for a program",
};

export const waitsFor = (run: Pick<Run, "waitingFor">): string => WAITS[run.waitingFor ?? ""] ?? "is waiting";

// Sent by one session to another; the reply goes back there.
const BETWEEN_SESSIONS = new Set(["inter_session", "reply_back"]);

const NO_REPLY_MARKERS = new Set(["REPLY_SKIP", "ANNOUNCE_SKIP", "NO_REPLY"]);

/** Tell whether a text is only an agent's marker for "no reply"; such markers are not shown to people. */
export const isNoReply = (text: string | null | undefined): boolean => NO_REPLY_MARKERS.has((text ?? "").trim());

type Provenance = Shapes["Provenance"] | null | undefined;

/** Return who caused a run, unless it was a person in a chat. */
export function sourceOf(provenance: Provenance): string {
  const kind = provenance?.kind;
  if (!kind || kind === "external_user") return "";
  if (BETWEEN_SESSIONS.has(kind)) return `from ${otherSession(provenance)}`;
  return kind.replaceAll("_", " ");
}

/** Return whom a reply goes to, if that is another session. */
export function targetOf(provenance: Provenance): string {
  return provenance && BETWEEN_SESSIONS.has(provenance.kind) ? `to ${otherSession(provenance)}` : "";
}

function otherSession({ sourceSessionKey: key = "" }: { sourceSessionKey?: string }): string {
  return `${nameOfKey(key)} of ${splitKey(key).agent}`;
}
