// What can be done about a need, and how it is undone.

import { useAction } from "../../data/action";
import { api, ask, type Run } from "../../data/api";
import { useAllowBudget } from "../../data/budgets";
import { answerSoon, type Decision } from "../../data/held";
import { useGoOn, useStopSession } from "../../data/loops";
import { plural } from "../../data/words";
import { toast } from "../../ui/toast";
import { dismiss, restore } from "./dismissed";
import type { Need } from "./needs";

export type Acts = ReturnType<typeof useActs>;

/** Return the acts; each takes the need off the list at once and says so, with an undo where there is one. */
export function useActs(settled: () => void) {
  function answer(run: Run, decision: Decision): void {
    settled();
    answerSoon(run, decision);
  }
  const cancel = useAction({
    act: (run: Run) => ask(api.POST("/api/runs/{id}/cancel", { params: { path: { id: run.id } } })),
    failed: "The run was not cancelled",
    stale: () => [["runs"]],
  });
  const uncancelled = useAction({
    act: (ids: string[]) => Promise.all(ids.map((id) => ask(api.POST("/api/runs/{id}/cancel", { params: { path: { id } } })))),
    failed: "The retry was not cancelled",
    stale: () => [["runs"]],
  });
  const retry = useAction({
    act: (needs: Need[]) => Promise.all(needs.map((need) => (need.kind === "undelivered" ? announce(need) : again(need)))),
    failed: "Not everything was retried",
    stale: () => [["runs"], ["notifications"]],
    done: (made, needs) => {
      const ids = needs.filter((need) => need.kind === "failed").map((need) => need.id);
      dismiss(ids);
      settled();
      const started = made.filter((id) => id !== null);
      toast({
        text: needs.length === 1 ? "Queued again." : `${plural(needs.length, "run")} queued again.`,
        action: started.length === 0 ? undefined : { label: "Undo", run: () => { restore(ids); uncancelled.mutate(started); } },
      });
    },
  });
  const review = useAction({
    act: ({ id, to }: { id: string; to: "done" | "in_progress" }) => ask(api.POST("/api/tasks/{id}/status", { params: { path: { id } }, body: { status: to, expectedStatus: "review" } })),
    failed: "The task was not moved",
    stale: ({ id }) => [["tasks"], ["task", id]],
    done: (_answer, { id, to }) => {
      settled();
      toast({ text: to === "done" ? "The task is done." : "The task is in progress again.", action: { label: "Undo", run: () => unreview.mutate({ id, to }) } });
    },
  });
  const unreview = useAction({
    act: ({ id, to }: { id: string; to: "done" | "in_progress" }) => to === "done"
      ? ask(api.POST("/api/tasks/{id}/reopen", { params: { path: { id } } }))
      : ask(api.POST("/api/tasks/{id}/status", { params: { path: { id } }, body: { status: "review" } })),
    failed: "The task was not moved back",
    stale: ({ id }) => [["tasks"], ["task", id]],
  });

  const allow = useAllowBudget(settled);
  const goOn = useGoOn(settled);
  const stop = useStopSession(settled);

  function putAside(needs: Need[]): void {
    const ids = needs.map((need) => need.id);
    dismiss(ids);
    settled();
    const unread = needs.flatMap((need) => (need.notification ? [need.notification.id] : []));
    const commit = setTimeout(() => {
      // Reading a notification cannot be undone, so it is marked once the undo is gone.
      for (const id of unread) api.POST("/api/notifications/{id}/read", { params: { path: { id } } }).catch(() => {});
    }, UNDO_MS);
    toast({
      text: needs.length === 1 ? "Dismissed." : `${needs.length} dismissed.`,
      action: { label: "Undo", run: () => { clearTimeout(commit); restore(ids); } },
    });
  }

  return { answer, cancel, retry, review, allow, goOn, stop, putAside };
}

const UNDO_MS = 7_500;

async function again({ id }: Need): Promise<string | null> {
  return (await ask(api.POST("/api/runs/{id}/retry", { params: { path: { id } } }))).runId;
}

async function announce({ run }: Need): Promise<null> {
  if (run) await api.POST("/api/runs/{id}/announce", { params: { path: { id: run.id } } });
  return null;
}
