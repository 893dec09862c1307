// Begin a session anew, or delete it: both are asked for first.

import { useNavigate } from "@tanstack/react-router";
import { useAction } from "../../data/action";
import { api, ask, type Session } from "../../data/api";
import { titleOfSession } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { toast } from "../../ui/toast";

export type Ending = "reset" | "delete" | null;

const WORDS = {
  reset: { title: "Begin this session anew?", about: "Its next message opens a new generation with an empty transcript. The present one can still be read, and runs that wait stay in the queue.", yes: "Begin anew" },
  delete: { title: "Delete this session?", about: "Its runs are cancelled, and its transcript, plans and own memory are removed for good.", yes: "Delete" },
};

export function EndingDialog({ ending, session, onClose }: { ending: Ending; session: Session; onClose: () => void }) {
  const navigate = useNavigate();
  const params = { path: { key: session.key } };
  const reset = useAction({
    act: () => ask(api.POST("/api/sessions/{key}/reset", { params })),
    failed: "The session was not begun anew",
    stale: () => [["sessions"], ["session", session.key]],
    done: () => void toast({ text: `Begun anew: ${titleOfSession(session)}` }),
  });
  const remove = useAction({
    act: () => ask(api.DELETE("/api/sessions/{key}", { params })),
    failed: "The session was not deleted",
    stale: () => [["sessions"]],
    done: () => void toast({ text: `Deleted: ${titleOfSession(session)}` }),
  });
  if (ending === null) return null;
  const { title, about, yes } = WORDS[ending];
  const act = () => {
    onClose();
    if (ending === "reset") reset.mutate();
    // Its page would be read again while it is being deleted.
    else void navigate({ to: "/sessions" }).then(() => remove.mutate());
  };
  return (
    <Dialog open title={title} about={about} onClose={onClose}>
      <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button weight="danger" onClick={act}>{yes}</Button></div>
    </Dialog>
  );
}
