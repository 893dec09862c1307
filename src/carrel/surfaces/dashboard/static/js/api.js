// The public API as the page uses it: one function that asks, one kind of refusal.

/** What the server, or the way to it, would not do; `status` is 0 when nobody answered. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const signedOutListeners = new Set();

/** Be told when the server no longer knows this browser. */
export function onSignedOut(listener) {
  signedOutListeners.add(listener);
}

/** Tell everyone who listens that the session has ended. */
export function tellSignedOut() {
  for (const listener of signedOutListeners) listener();
}

/** Ask the server and give the parsed answer, null for an empty one; throws a Refusal. */
export async function ask(method, path, { body, signal } = {}) {
  const answer = await send(method, path, body, signal);
  const text = await answer.text();
  const value = parse(text);
  if (answer.ok) return value;
  if (answer.status === 401 && path !== "/api/auth/session") tellSignedOut();
  const error = value?.error ?? {};
  throw new Refusal(answer.status, error.code ?? "unknown", error.message ?? `The server answered ${answer.status}.`);
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, body = {}) => ask("POST", path, { body });

async function send(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      signal,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "unreachable", "The server cannot be reached.");
  }
}

function parse(text) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Write a path with its query; empty parameters are left out. */
export function url(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** The path of a lane, with whatever comes after it. */
export const lanePath = (key, rest = "") => `/api/sessions/${encodeURIComponent(key)}${rest}`;

/** The path of a run, with whatever comes after it. */
export const runPath = (id, rest = "") => `/api/runs/${encodeURIComponent(id)}${rest}`;

/** The page's own address of a lane's chat. */
export const chatHref = (key) => `/chat/${encodeURIComponent(key)}`;

/** Read a list page by page, up to `pages` of them; `more` says that the server has others. */
export async function readAll(path, parameters, name, { pages = 5, signal } = {}) {
  const rows = [];
  let cursor;
  for (let page = 0; page < pages; page += 1) {
    const answer = await get(url(path, { ...parameters, cursor }), { signal });
    rows.push(...(answer?.[name] ?? []));
    cursor = answer?.nextCursor;
    if (!cursor) return { rows, more: false };
  }
  return { rows, more: true };
}
