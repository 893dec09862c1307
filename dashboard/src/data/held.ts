// Answers that were given and are not sent yet: for some seconds they can be taken back. They are kept while other pages are
// opened, and sent at once when the window closes.

import { useSyncExternalStore } from "react";
import { tellFailure } from "./action";
import { api, ask, type Run } from "./api";
import { cache } from "./cache";
import { toast } from "../ui/toast";

export type Decision = { text?: string; approve?: boolean };

const UNDO_MS = 5_000;

const held = new Map<string, { run: Run; decision: Decision; timer: number }>();
const takenBack = new Map<string, string>();
const listeners = new Set<() => void>();
let ids: ReadonlySet<string> = new Set();

function told(): void {
  ids = new Set(held.keys());
  for (const listener of listeners) listener();
}

/** Answer a waiting run in some seconds, unless that is undone. */
export function answerSoon(run: Run, decision: Decision): void {
  const close = toast({ text: `${saying(decision)} in ${UNDO_MS / 1_000} seconds.`, action: { label: "Undo", run: () => takeBack(run.id) } });
  const timer = window.setTimeout(() => {
    close();
    void send(run, decision);
  }, UNDO_MS);
  takenBack.delete(run.id);
  held.set(run.id, { run, decision, timer });
  told();
}

function takeBack(id: string): void {
  const answer = held.get(id);
  if (answer === undefined) return;
  clearTimeout(answer.timer);
  if (answer.decision.text) takenBack.set(id, answer.decision.text);
  held.delete(id);
  told();
}

async function send(run: Run, decision: Decision): Promise<void> {
  try {
    await ask(api.POST("/api/runs/{id}/answer", { params: { path: { id: run.id } }, body: decision }));
    // Its row comes back only if the run asks again.
    await cache.invalidateQueries({ queryKey: ["runs"] });
    toast({ text: said(decision) });
  } catch (error) {
    takenBack.set(run.id, decision.text ?? "");
    tellFailure("The answer was not taken", error as Error, () => answerSoon(run, decision));
  }
  held.delete(run.id);
  told();
}

// A closing window waits for nothing, but the browser still sends a request that it may keep alive.
window.addEventListener("pagehide", () => {
  for (const { run, decision, timer } of held.values()) {
    clearTimeout(timer);
    void fetch(`/api/runs/${encodeURIComponent(run.id)}/answer`, { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" }, body: JSON.stringify(decision) });
  }
  held.clear();
});

/** Return the ids of the runs whose answers are about to be sent. */
export const useHeld = (): ReadonlySet<string> => useSyncExternalStore((changed) => (listeners.add(changed), () => listeners.delete(changed)), () => ids);

/** Return the text of an answer that was taken back, to go on with. */
export const textTakenBack = (id: string): string => takenBack.get(id) ?? "";

const saying = ({ approve }: Decision): string => (approve === undefined ? "The answer is sent" : approve ? "It is approved" : "It is refused");

const said = ({ approve }: Decision): string => (approve === undefined ? "Sent. The run continues." : approve ? "Approved. The run continues." : "Refused. The run continues without it.");
