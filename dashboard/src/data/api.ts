// Calls of our own server, by the cookie of this browser.

import { createCarrel, type Shapes } from "carrel-client";

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

/** Tell whether the server answers at all. */
export const isReachable = (): Promise<boolean> => fetch("/healthz").then(({ ok }) => ok, () => false);
