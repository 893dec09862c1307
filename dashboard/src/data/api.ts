// Calls of the API, typed from its OpenAPI document, and the one error that they throw.

import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.gen";

export type Shapes = components["schemas"];
// Titles are added by newer servers; a page shows `title` where it is present.
type Titled = { title?: string };
export type Run = Shapes["RunShape"] & Titled;
export type Session = Shapes["SessionShape"] & Titled;
export type Task = Shapes["TaskShape"];
export type Topic = Shapes["TopicShape"];
export type Space = Shapes["SpaceShape"];
export type Agent = Shapes["AgentShape"];
export type Notification = Shapes["NotificationShape"];
export type Message = Shapes["MessageShape"];
export type Receipt = Shapes["carrel.delivery.receipts.Receipt"];
export type Me = Shapes["Me"];

/** A request that failed; `status` is 0 when the server did not answer. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
    readonly field: string | null = null,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const SESSION_PATH = "/api/auth/session";
const signedOut = new Set<() => void>();

/** Call the listener when the server no longer accepts this browser's cookie; returns how to stop. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

const refusals: Middleware = {
  async onResponse({ request, response }) {
    if (response.ok) return;
    const body = (await response.clone().json().catch(() => null)) as {
      error?: { code?: string; message?: string; field?: string };
      requestId?: string;
    } | null;
    if (response.status === 401 && !request.url.endsWith(SESSION_PATH)) for (const listener of signedOut) listener();
    const { code = "unknown", message = `The server answered ${response.status}.`, field = null } = body?.error ?? {};
    throw new Refusal(response.status, code, message, body?.requestId ?? response.headers.get("X-Request-Id"), field);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new Refusal(0, "unreachable", "The server cannot be reached.");
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, headers: { Accept: "application/json" } });
api.use(refusals);

/** Tell whether the server answers at all. */
export const isReachable = (): Promise<boolean> => fetch("/healthz").then(({ ok }) => ok, () => false);

/** Return the body of an answer; a refusal was thrown before this is reached. */
export async function ask<Body>(call: Promise<{ data?: Body }>): Promise<Body> {
  return (await call).data as Body;
}

type Page = { nextCursor: string | null };

/** Read the pages of a list, at most `pages` of them; `more` says whether the server has others. */
export async function readAll<Answer extends Page, Row>(
  read: (cursor: string | undefined) => Promise<Answer>,
  rowsOf: (answer: Answer) => Row[],
  pages = 5,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const answer = await read(cursor);
    rows.push(...rowsOf(answer));
    if (!answer.nextCursor) return { rows, more: false };
    cursor = answer.nextCursor;
  }
  return { rows, more: true };
}
