// Give a session a name of one's own; an empty one brings back what it is called by itself.

import { type FormEvent, useState } from "react";
import type { Session } from "../../data/api";
import { titleOfSession } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { useRename } from "./data";

export function RenameDialog({ session, onClose }: { session: Session | null; onClose: () => void }) {
  return (
    <Dialog title="Rename the session" about="Leave it empty for the name that it has by itself." open={session !== null} onClose={onClose}>
      {session && <Form key={session.key} session={session} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ session, onClose }: { session: Session; onClose: () => void }) {
  const [title, setTitle] = useState(titleOfSession(session));
  const rename = useRename();
  const save = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate({ key: session.key, title: title.trim() });
    onClose();
  };
  return (
    <form onSubmit={save} className="flex gap-2">
      <input aria-label="Name" autoFocus value={title} onChange={(event) => setTitle(event.target.value)} onFocus={(event) => event.target.select()} className="field" />
      <Button type="submit" weight="main">Rename</Button>
    </form>
  );
}
