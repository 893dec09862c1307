// Who is signed in. A token from the address or the form is exchanged for a cookie and kept nowhere.

import { api, ask, type Me, Refusal } from "./api";
import { cache } from "./cache";
import { follow } from "./events";
import { startFeed, stopFeed } from "./feed";

export type Identity =
  | { stage: "entering" }
  | { stage: "out"; complaint: string }
  | { stage: "unreachable"; complaint: string }
  | { stage: "in"; me: Me };

let identity: Identity = { stage: "entering" };
let unfollow: (() => void) | null = null;
const listeners = new Set<() => void>();

export const currentIdentity = (): Identity => identity;

/** Tell whether an owner of the account is signed in. */
export const isOwner = (): boolean => identity.stage === "in" && identity.me.actor.kind === "owner";

export function listenIdentity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function become(next: Identity): void {
  identity = next;
  for (const listener of listeners) listener();
}

/** Remove the token from the address and return it; null when there is none. */
function tokenFromAddress(): string | null {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (match?.[1] === undefined) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    return decodeURIComponent(match[1]);
  } catch {
    return match[1];
  }
}

/** Exchange a token for the cookie and open the dashboard; throws a Refusal. */
export async function signIn(token: string): Promise<void> {
  await api.POST("/api/auth/session", { body: { token: token.trim() } });
  await enter();
}

/** Return why a token was refused. */
export function whyNot(error: unknown): string {
  if (error instanceof Refusal && error.status === 401) return "This token is not known. Check that you copied all of it.";
  return error instanceof Error ? error.message : String(error);
}

/** Sign in with the token of the address, else with the cookie that is there. */
export async function begin(): Promise<void> {
  const token = tokenFromAddress();
  try {
    if (token !== null) await signIn(token);
    else await enter();
  } catch (error) {
    leave(whyNot(error));
  }
}

/** Read who this browser is, and start what only somebody who is signed in has. */
export async function enter(): Promise<void> {
  let me: Me;
  try {
    me = await ask(api.GET("/api/auth/me"));
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) leave("");
    else become({ stage: "unreachable", complaint: whyNot(error) });
    return;
  }
  unfollow?.();
  unfollow = follow(startFeed(`${me.account.id}.${me.actor.id}`, me.seq), cache);
  become({ stage: "in", me });
}

/** Show the sign-in page; nothing that was read before stays in memory. */
export function leave(complaint: string): void {
  unfollow?.();
  unfollow = null;
  stopFeed();
  cache.clear();
  become({ stage: "out", complaint });
}

export async function signOut(): Promise<void> {
  await api.DELETE("/api/auth/session");
  // Unsent texts are this person's alone.
  sessionStorage.clear();
  leave("");
}
