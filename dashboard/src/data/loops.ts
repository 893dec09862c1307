// What can be done about a session that is held because it does nothing new any more.

import { useAction } from "./action";
import { api, ask, type Run } from "./api";

const changed = ({ id }: Run) => [["runs"], ["run", id], ["sessions"]];

export const useGoOn = (done?: () => void) => useAction({
  act: (run: Run) => ask(api.POST("/api/runs/{id}/allow", { params: { path: { id: run.id } } })),
  failed: "It was not let go on",
  stale: changed,
  ...(done ? { done } : {}),
});

export const useStopSession = (done?: () => void) => useAction({
  act: (run: Run) => ask(api.POST("/api/sessions/{key}/stop", { params: { path: { key: run.sessionKey } } })),
  failed: "The session was not stopped",
  stale: changed,
  ...(done ? { done } : {}),
});
