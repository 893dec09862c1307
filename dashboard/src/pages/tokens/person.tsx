// Making, changing and removing a person.

import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Choose, TextField } from "../../ui/form";
import { toast } from "../../ui/toast";
import type { Person } from "./tokens";

const MAIL = /^[^\s@]+@[^\s@]+$/;

export function PersonForm({ person, onClose }: { person?: Person; onClose: () => void }) {
  const [name, setName] = useState(person?.name ?? "");
  const [email, setEmail] = useState(person?.email ?? "");
  const [role, setRole] = useState<Person["role"]>(person?.role ?? "member");
  const [sure, setSure] = useState(false);
  const save = useAction({
    act: () => {
      const body = { name: name.trim(), email: email.trim() || null, role };
      return person ? ask(api.PATCH("/api/users/{id}", { params: { path: { id: person.id } }, body })) : ask(api.POST("/api/users", { body }));
    },
    failed: "The person was not saved",
    stale: () => [["people"]],
    quiet: true,
    done: () => {
      toast({ text: person ? "Saved." : "Made. Now make a token for them to sign in with." });
      onClose();
    },
  });
  const remove = useAction({
    act: () => ask(api.DELETE("/api/users/{id}", { params: { path: { id: person?.id ?? "" } } })),
    failed: "The person was not removed",
    stale: () => [["people"], ["tokens"]],
    done: onClose,
  });
  const wrong = email.trim() !== "" && !MAIL.test(email.trim()) ? "This is not a mail address." : null;
  const ready = name.trim() !== "" && wrong === null;
  return (
    <Dialog open title={person ? person.name : "New person"} onClose={onClose}>
      <form className="grid gap-4" onSubmit={(event) => { event.preventDefault(); if (ready) save.mutate(); }}>
        <TextField label="Name" autoFocus value={name} onChange={(event) => setName(event.target.value)} complaint={save.error?.message} />
        <TextField label="Mail" type="email" value={email} onChange={(event) => setEmail(event.target.value)} complaint={wrong} hint="Optional." />
        <Choose label="Role" value={role} onChange={(event) => setRole(event.target.value === "owner" ? "owner" : "member")} options={[{ value: "member", label: "Member: chats, tasks, memory" }, { value: "owner", label: "Owner: administers too" }]} />
        <div className="flex flex-wrap justify-end gap-2">
          {person && <Button weight="danger" className="mr-auto" busy={remove.isPending} onClick={() => (sure ? remove.mutate() : setSure(true))}>{sure ? "Remove, with every token" : "Remove"}</Button>}
          <Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={!ready}>{person ? "Save" : "Create"}</Button>
        </div>
      </form>
    </Dialog>
  );
}
