// Calls of our own server, by the cookie of this browser.

import { createCarrel, Refusal, type Shapes } from "carrel-client";

export { ask, readAll, Refusal, type Shapes } from "carrel-client";

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
export type Budget = Shapes["BudgetShape"];

const SESSION_PATH = "/api/auth/session";
const signedOut = new Set<() => void>();

/** Call the listener when the server no longer accepts this browser's cookie; returns how to stop. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export const server = { url: location.origin };
export const api = createCarrel(server);
api.use({
  onResponse({ request, response }) {
    if (response.status === 401 && !request.url.endsWith(SESSION_PATH)) for (const listener of signedOut) listener();
  },
});

/** Tell whether a request failed only because the server did not answer. */
export const isAway = (error: unknown): boolean => error instanceof Refusal && error.status === 0;

const isReachable = (): Promise<boolean> => fetch("/healthz").then(({ ok }) => ok, () => false);

const ASK_EVERY_MS = 1_000;
let coming: Promise<void> | null = null;

/** Wait until the server answers. However many wait, it is asked once a second. */
export function untilReachable(): Promise<void> {
  coming ??= (async () => {
    while (!(await isReachable())) await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    coming = null;
  })();
  return coming;
}
