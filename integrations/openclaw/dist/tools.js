/** The tools of the board for OpenClaw's agents; each is one request to the server. */

import { clip } from "./entries.js";
import { ask, Refused } from "./server.js";

const RESULT_CHARS_MAX = 24_000;
const TIMEOUT_MS = 15_000;

const TEXT = { type: "string", minLength: 1 };
const COUNT = { type: "integer", minimum: 0, maximum: 50 };
const MOMENT = { type: ["string", "null"], description: "ISO 8601; null for none" };

const SPECS         = [
  {
    name: "clawboard_search",
    label: "Search the board",
    description: "Search topics, tasks, what was said, and notes on the Carrel board.",
    required: ["q"],
    properties: {
      q: TEXT,
      sessionKey: { ...TEXT, description: "look from this session" },
      topicId: TEXT,
      includePending: { type: "boolean" },
      limitTopics: COUNT,
      limitTasks: COUNT,
      limitLogs: COUNT,
      limitNotes: COUNT,
    },
    request: (params) => ["GET", `/api/search?${query(params)}`],
  },
  {
    name: "clawboard_context",
    label: "Context from the board",
    description: "Get what the Carrel board knows for a question: where a session is, what is worked on, what was said.",
    required: [],
    properties: {
      q: { type: "string" },
      sessionKey: TEXT,
      mode: { type: "string", enum: ["auto", "cheap", "full", "patient"] },
      maxChars: { type: "integer", minimum: 1, maximum: RESULT_CHARS_MAX },
    },
    request: (params) => ["GET", `/api/context?${query(params)}`],
  },
  {
    name: "clawboard_get_topic",
    label: "Topic",
    description: "Get a topic of the Carrel board by its id.",
    required: ["id"],
    properties: { id: TEXT },
    request: ({ id }) => ["GET", `/api/topics/${segment(id)}`],
  },
  {
    name: "clawboard_get_task",
    label: "Task",
    description: "Get a task of the Carrel board by its id.",
    required: ["id"],
    properties: { id: TEXT },
    request: ({ id }) => ["GET", `/api/tasks/${segment(id)}`],
  },
  {
    name: "clawboard_get_log",
    label: "Entry",
    description: "Get one entry of the Carrel board by its id.",
    required: ["id"],
    properties: { id: TEXT, includeRaw: { type: "boolean" } },
    request: ({ id, ...rest }) => ["GET", `/api/log/${segment(id)}?${query(rest)}`],
  },
  {
    name: "clawboard_create_note",
    label: "Write a note",
    description: "Write a note about an entry of the Carrel board: a fact or a decision worth keeping.",
    required: ["relatedLogId", "text"],
    properties: { relatedLogId: TEXT, text: TEXT, topicId: TEXT, taskId: TEXT },
    request: ({ text, ...rest }, agentId) => {
      const source = { channel: "openclaw" };
      return ["POST", "/api/log", { ...rest, type: "note", content: text, source, ...(agentId ? { agentId } : {}) }];
    },
  },
  {
    name: "clawboard_update_task",
    label: "Change a task",
    description: "Change a task of the Carrel board; what is left out stays as it is.",
    required: ["id"],
    properties: {
      id: TEXT,
      status: { ...TEXT, description: "for example todo, in_progress, review, blocked or done" },
      priority: { type: "integer", minimum: 1, maximum: 5 },
      dueDate: MOMENT,
      snoozedUntil: MOMENT,
      pinned: { type: "boolean" },
      tags: { type: "array", items: TEXT },
    },
    request: ({ id, ...rest }) => ["PATCH", `/api/tasks/${segment(id)}`, rest],
  },
];

export const TOOL_NAMES                    = SPECS.map(({ name }) => name);

/** Return the tools as OpenClaw takes them. */
export function boardTools(config        , agentId                    ) {
  return SPECS.map(({ name, label, description, required, properties, request }) => ({
    name,
    label,
    description,
    parameters: { type: "object", additionalProperties: false, required, properties },
    async execute(_call        , given         , signal              ) {
      const params = (given ?? {})          ;
      const missing = required.find((field) => typeof params[field] !== "string" || !params[field]);
      if (missing) throw new Error(`${name} needs ${missing}.`);
      const found = await answer(config, request(params, agentId), signal);
      return { content: [{ type: "text"         , text: clip(JSON.stringify(found), RESULT_CHARS_MAX) }], details: {} };
    },
  }));
}

/** Ask the server; what goes wrong is told in words that a model can act on. */
async function answer(config        , request         , signal                         ) {
  const [method, path, body] = request;
  try {
    return await ask(config, method, path, { timeoutMs: TIMEOUT_MS, signal, ...(body ? { body } : {}) });
  } catch (fault) {
    if (fault instanceof Refused) throw new Error(`Carrel refused this: ${fault.message}`, { cause: fault });
    const why = (fault         ).name === "TimeoutError" ? "did not answer in time" : "cannot be reached";
    throw new Error(`Carrel ${why}; go on without it, or try again later.`, { cause: fault });
  }
}

function query(params        )         {
  const named = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);
  return new URLSearchParams(named.map(([name, value]) => [name, String(value)])).toString();
}

function segment(id         )         {
  return encodeURIComponent(String(id));
}
