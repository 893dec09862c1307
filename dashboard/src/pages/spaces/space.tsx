// One space: its name and colour, what new spaces see of it, and removing it; and making a new one.

import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Space } from "../../data/api";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Check, TextField } from "../../ui/form";
import { Ident } from "../../ui/ident";
import { Peek } from "../../ui/peek";
import { toast } from "../../ui/toast";

const DEFAULT = "space-default";
const NO_COLOR = "#8d8574";

const stale = () => [["spaces"], ["topics"], ["tasks"]];

export function SpacePeek({ space, spaces, onClose }: { space: Space; spaces: Space[]; onClose: () => void }) {
  const [name, setName] = useState(space.name);
  const [color, setColor] = useState(space.color ?? NO_COLOR);
  const [visible, setVisible] = useState(space.defaultVisible);
  const [asking, setAsking] = useState(false);
  const save = useAction({
    act: () => ask(api.PATCH("/api/spaces/{id}", { params: { path: { id: space.id } }, body: { name, color: color === NO_COLOR ? null : color, defaultVisible: visible } })),
    failed: "The space was not changed",
    stale,
    done: () => toast({ text: "Saved." }),
  });
  const remove = useAction({
    act: () => ask(api.DELETE("/api/spaces/{id}", { params: { path: { id: space.id } } })),
    failed: "The space was not removed",
    stale,
    done: onClose,
  });
  const seenBy = spaces.filter((each) => each.connectivity[space.id]).map((each) => each.name);
  return (
    <Peek title={space.name} onClose={onClose} actions={space.id !== DEFAULT && <Button small weight="danger" onClick={() => setAsking(true)}>Remove</Button>}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (name.trim()) save.mutate(); }}>
        <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} complaint={name.trim() ? null : "A space has a name."} />
        <TextField label="Colour" type="color" className="w-24" value={color} onChange={(event) => setColor(event.target.value)} />
        <Check label="New spaces see it" checked={visible} onChange={(event) => setVisible(event.target.checked)} />
        <p className="note">{seenBy.length === 0 ? "No other space sees it." : `Seen by ${seenBy.join(", ")}.`}</p>
        <div className="flex items-center justify-between gap-2"><Ident text={space.id} /><Button type="submit" weight="main" busy={save.isPending} disabled={!name.trim()}>Save</Button></div>
      </form>
      <Dialog open={asking} title={`Remove ${space.name}?`} about="Everything in it moves to the default space." onClose={() => setAsking(false)}>
        <div className="flex justify-end gap-2"><Button onClick={() => setAsking(false)}>Keep it</Button><Button weight="danger" busy={remove.isPending} onClick={() => remove.mutate()}>Remove</Button></div>
      </Dialog>
    </Peek>
  );
}

export function NewSpace({ onClose, onDone }: { onClose: () => void; onDone: (id: string) => void }) {
  const [name, setName] = useState("");
  const [visible, setVisible] = useState(true);
  const make = useAction({
    act: () => ask(api.POST("/api/spaces", { body: { name: name.trim(), defaultVisible: visible } })),
    failed: "The space was not made",
    stale: () => [["spaces"]],
    quiet: true,
    done: ({ space }) => onDone(space.id),
  });
  return (
    <Dialog open title="New space" about="A part of the board with topics and tasks of its own." onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (name.trim()) make.mutate(); }}>
        <TextField label="Name" autoFocus value={name} onChange={(event) => setName(event.target.value)} complaint={make.error?.message} />
        <Check label="New spaces see it" checked={visible} onChange={(event) => setVisible(event.target.checked)} />
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={make.isPending} disabled={!name.trim()}>Create</Button></div>
      </form>
    </Dialog>
  );
}
