// How values read to a person: lane names, ages, states and reasons. Pure.

const CHANNELS = { web: "Web chat", webchat: "Web chat", telegram: "Telegram", cli: "Terminal chat" };

const KINDS = {
  task: "Task", topic: "Topic", cron: "Schedule", hook: "Hook", subagent: "Sub-agent", openresponses: "Responses call",
};

/** Split a canonical key into agent and rest; a key of another form has no agent. */
export function splitKey(key) {
  const match = /^agent:([^:]+):(.+)$/.exec(key ?? "");
  return match ? { agent: match[1], rest: match[2] } : { agent: "", rest: key ?? "" };
}

/** Name a lane in words: "Main lane", "Task task_4f…", "Telegram group 7". */
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

/** The name a person gave, else the lane's name in words. */
export const laneTitle = (row) => row.displayName || row.label || laneName(row.sessionKey ?? row.key);

function short(text) {
  return text.length > 18 ? `${text.slice(0, 12)}…` : text;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The first line that says something, cut to a bound. */
export function firstLine(text, most = 160) {
  const line = (text ?? "").split("\n").find((each) => each.trim() !== "")?.trim() ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A length of time in its one or two largest units. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

/** A time on the wire, ISO text or milliseconds, as milliseconds; null when there is none. */
export function instant(value) {
  if (value === null || value === undefined || value === "") return null;
  const milliseconds = typeof value === "number" ? value : Date.parse(value);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** A count with its noun. */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** A number of characters as people read sizes. */
export function characters(count) {
  return count < 10_000 ? `${count.toLocaleString("en")} characters` : `${Math.round(count / 1000)} k characters`;
}

const REASONS = {
  task_done: "its task is done",
  task_archived: "its task was archived",
  user_cancelled: "cancelled by a person",
  stopped: "stopped",
  timeout: "it took longer than its time limit",
  interrupted: "it was interrupted",
  dead_letter: "every attempt failed",
  rejected: "the agent declined",
  account_mismatch: "it belongs to another account",
  policy: "the send policy does not allow it",
  agent_disabled: "the agent is switched off",
  expired: "nobody answered in time",
  draining: "the server was stopping",
};

/** Why a run ended as it did, in one sentence without its full stop. */
export function whyEnded(run) {
  const error = run.error?.message ?? "";
  // That every attempt failed says less than why the last one did.
  const told = run.reason && !(run.reason === "dead_letter" && error !== "");
  const reason = told ? (REASONS[run.reason] ?? run.reason) : "";
  return [reason, error].filter((part) => part !== "").join(": ") || "no reason was given";
}

const WAITS = {
  input: "asks you", auth: "needs your sign-in", approval: "asks for approval", tool_output: "waits for a program’s answer",
};

export const waitsFor = (run) => WAITS[run.waitingFor] ?? "waits";

// Said by one lane to another: the answer goes back there.
const BETWEEN_LANES = new Set(["inter_session", "reply_back"]);

const SILENCE = new Set(["REPLY_SKIP", "ANNOUNCE_SKIP", "NO_REPLY"]);

/** Whether an agent's words only say that it says nothing; people are never shown them as an answer. */
export const saysNothing = (text) => SILENCE.has((text ?? "").trim());

/** Who caused a run, when that was not a person in a chat. */
export function byWhom(provenance) {
  const kind = provenance?.kind;
  if (!kind || kind === "external_user") return "";
  if (BETWEEN_LANES.has(kind)) return `from ${othersLane(provenance)}`;
  return kind.replaceAll("_", " ");
}

/** Whom an answer goes to, when that is another lane and not the people of this one. */
export function toWhom(provenance) {
  return BETWEEN_LANES.has(provenance?.kind) ? `to ${othersLane(provenance)}` : "";
}

const othersLane = ({ sourceSessionKey: key }) => `${laneName(key)} of ${splitKey(key).agent}`;
