// Short messages at the edge of the window: what was done, with an undo, or what failed, with a retry.

import { useSyncExternalStore } from "react";
import { Button } from "./button";
import { Icon } from "./icon";

export type Toast = {
  text: string;
  tone?: "done" | "failure";
  note?: string;
  action?: { label: string; run: () => void };
};
type Shown = Toast & { id: number };

const DONE_SECONDS = 7;
const SHOWN_MOST = 4;

let shown: Shown[] = [];
let counter = 0;
const listeners = new Set<() => void>();

function set(next: Shown[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

/** Show a message. What was done goes away by itself, what failed stays until it is closed; returns how to close it. */
export function toast(message: Toast): () => void {
  counter += 1;
  const id = counter;
  const close = () => set(shown.filter((each) => each.id !== id));
  set([...shown, { ...message, id }].slice(-SHOWN_MOST));
  if (message.tone !== "failure") setTimeout(close, DONE_SECONDS * 1_000);
  return close;
}

const close = (id: number) => set(shown.filter((each) => each.id !== id));

export function Toasts() {
  const all = useSyncExternalStore((changed) => (listeners.add(changed), () => listeners.delete(changed)), () => shown);
  return (
    <section aria-label="Messages" className="pointer-events-none fixed inset-x-3 bottom-3 z-50 grid justify-items-center gap-2 sm:left-auto sm:justify-items-end">
      {all.map(({ id, text, tone = "done", note, action }) => (
        <div
          key={id}
          role={tone === "failure" ? "alert" : "status"}
          className={`pointer-events-auto flex w-full max-w-[30rem] items-start gap-3 rounded-lg border border-rule border-l-[3px] bg-leaf py-2.5 pr-2 pl-4 text-sm shadow-leaf ${tone === "failure" ? "border-l-red-edge" : "border-l-green"}`}
        >
          <div className="min-w-0 flex-1 pt-1">
            <p>{text}</p>
            {note !== undefined && <p className="note font-mono">{note}</p>}
          </div>
          {action && <Button small onClick={() => { close(id); action.run(); }}>{action.label}</Button>}
          <Button weight="bare" small aria-label="Close message" onClick={() => close(id)}><Icon name="close" className="size-4" /></Button>
        </div>
      ))}
    </section>
  );
}
