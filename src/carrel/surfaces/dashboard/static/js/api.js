// Calls to the public API: one function for requests, one kind of error.

/** A failed request; `status` is 0 when the server did not answer. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const signedOutListeners = new Set();

/** Call `listener` when the server no longer accepts this browser's cookie. */
export function onSignedOut(listener) {
  signedOutListeners.add(listener);
}

/** Notify the listeners that the browser is signed out. */
export function notifySignedOut() {
  for (const listener of signedOutListeners) listener();
}

/** Send a request and return the parsed response, null if it is empty; throws a Refusal. */
export async function ask(method, path, { body, signal } = {}) {
  const answer = await send(method, path, body, signal);
  const text = await answer.text();
  const value = parse(text);
  if (answer.ok) return value;
  if (answer.status === 401 && path !== "/api/auth/session") notifySignedOut();
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

/** Return a path with its query; empty parameters are left out. */
export function url(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Return the API path of a lane, followed by `rest`. */
export const lanePath = (key, rest = "") => `/api/sessions/${encodeURIComponent(key)}${rest}`;

/** Return the API path of a run, followed by `rest`. */
export const runPath = (id, rest = "") => `/api/runs/${encodeURIComponent(id)}${rest}`;

/** Return the dashboard's address of a lane's chat. */
export const chatHref = (key) => `/chat/${encodeURIComponent(key)}`;

/** Return the dashboard's address of a task. */
export const taskHref = (id) => `/tasks/${encodeURIComponent(id)}`;

/** Read a list, at most `pages` pages of it; `more` says whether the server has others. */
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
