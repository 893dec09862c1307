// Values as text: lane names, ages, states and reasons. Pure functions.

const CHANNELS = { web: "Web chat", webchat: "Web chat", telegram: "Telegram", cli: "Terminal chat" };

const KINDS = {
  task: "Task", topic: "Topic", cron: "Schedule", hook: "Hook", subagent: "Sub-agent", openresponses: "Responses call",
};

/** Split a canonical session key into agent and rest; other keys have no agent. */
export function splitKey(key) {
  const match = /^agent:([^:]+):(.+)$/.exec(key ?? "");
  return match ? { agent: match[1], rest: match[2] } : { agent: "", rest: key ?? "" };
}

/** Return a readable name of a lane: "Main lane", "Task task_4f…", "Telegram group 7". */
export function laneName(key) {
  const { rest } = splitKey(key);
  if (rest === "main") return "Main lane";
  const node = /^node-(.+)$/.exec(rest);
  if (node) return `Node ${short(node[1])}`;
  const [head, ...tail] = rest.split(":");
  if (head === "a2a") return `A2A ${short(tail.slice(1).join(":"))}`;
  if (head === "openresponses-user") return `Responses user ${short(tail.slice(1).join(":"))}`;
  if (KINDS[head] && tail.length > 0) return `${KINDS[head]} ${short(tail.join(":"))}`;
  const where = CHANNELS[head] ?? capital(head);
  return [where, ...tail.map(short)].join(" ").trim();
}

/** Return the name that a user gave the lane, or else a readable one. */
export const laneTitle = (row) => row.displayName || row.label || laneName(row.sessionKey ?? row.key);

/** Return the state of a lane: one whose agent asked a person something is waiting, not idle. */
export const laneState = ({ state, waitingFor }) => (state === "idle" && waitingFor ? "waiting" : (state ?? ""));

function short(text) {
  return text.length > 18 ? `${text.slice(0, 12)}…` : text;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Return the first line that is not blank, shortened to `most` characters. */
export function firstLine(text, most = 160) {
  const line = (text ?? "").split("\n").find((each) => each.trim() !== "")?.trim() ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Return a duration in its largest unit. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

/** Convert an API time (ISO text or milliseconds) to milliseconds; null when there is none. */
export function instant(value) {
  if (value === null || value === undefined || value === "") return null;
  const milliseconds = typeof value === "number" ? value : Date.parse(value);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** Return which attempt of a run failed, why, and when the next one starts; empty when none did. */
export function faultOf(run) {
  const fault = run?.lastFault;
  if (!fault) return "";
  const why = `${fault.message.replace(/[. ]+$/, "")}.`;
  const said = fault.unreachableSince
    ? `${why} The message is kept and answered when it can be reached.`
    : `Attempt ${fault.attempt} of ${run.attemptsMax} failed: ${why}`;
  return fault.nextAttemptAt ? `${said} Next try at ${new Date(fault.nextAttemptAt).toLocaleTimeString()}.` : said;
}

/** Return a count with its noun. */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** Return a number of characters in readable form. */
export function characters(count) {
  return count < 10_000 ? `${count.toLocaleString("en")} characters` : `${Math.round(count / 1000)} k characters`;
}

const REASONS = {
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
export function whyEnded(run) {
  const error = run.error?.message ?? "";
  // The last error says more than "every attempt failed".
  const useful = run.reason && !(run.reason === "dead_letter" && error !== "");
  const reason = useful ? (REASONS[run.reason] ?? run.reason) : "";
  return [reason, error].filter((part) => part !== "").join(": ") || "no reason was given";
}

const WAITS = {
  input: "has a question", auth: "needs you to sign in", approval: "needs your approval", tool_output: "is waiting for a program",
};

export const waitsFor = (run) => WAITS[run.waitingFor] ?? "is waiting";

// Sent by one lane to another; the reply goes back there.
const BETWEEN_LANES = new Set(["inter_session", "reply_back"]);

const NO_REPLY_MARKERS = new Set(["REPLY_SKIP", "ANNOUNCE_SKIP", "NO_REPLY"]);

/** Tell whether a text is only an agent's marker for "no reply"; such markers are not shown to people. */
export const isNoReply = (text) => NO_REPLY_MARKERS.has((text ?? "").trim());

/** Return who caused a run, unless it was a person in a chat. */
export function sourceOf(provenance) {
  const kind = provenance?.kind;
  if (!kind || kind === "external_user") return "";
  if (BETWEEN_LANES.has(kind)) return `from ${otherLane(provenance)}`;
  return kind.replaceAll("_", " ");
}

/** Return whom a reply goes to, if that is another lane. */
export function targetOf(provenance) {
  return BETWEEN_LANES.has(provenance?.kind) ? `to ${otherLane(provenance)}` : "";
}

const otherLane = ({ sourceSessionKey: key }) => `${laneName(key)} of ${splitKey(key).agent}`;
