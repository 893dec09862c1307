// Making and changing a schedule. The next times are shown while the expression is typed.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, Refusal } from "../../data/api";
import { sessionsQuery, tasksQuery } from "../../data/queries";
import { titleOfSession } from "../../data/words";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Check, Choose, TextArea, TextField } from "../../ui/form";
import { toast } from "../../ui/toast";
import { complaintOf, wordsOf } from "./cron";
import { Upcoming } from "./schedule";
import type { Schedule } from "./schedules";

const COMMON = [
  { value: "", label: "Choose a common one" }, { value: "0 9 * * *", label: "Every day at 09:00" }, { value: "0 9 * * 1-5", label: "Monday to Friday at 09:00" },
  { value: "0 9 * * 1", label: "Mondays at 09:00" }, { value: "0 * * * *", label: "Every hour" }, { value: "*/15 * * * *", label: "Every 15 minutes" },
];

type Props = { schedule?: Schedule; onClose: () => void; onDone: (id: string) => void };

export function ScheduleForm({ schedule, onClose, onDone }: Props) {
  const sessions = useQuery(sessionsQuery({}, 1)).data?.rows ?? [];
  const tasks = useQuery(tasksQuery({}, 1)).data?.rows ?? [];
  const [type, setType] = useState<"message" | "task">(schedule?.type === "task" ? "task" : "message");
  const [session, setSession] = useState(schedule?.sessionKey ?? "");
  const [target, setTarget] = useState(schedule?.targetId ?? "");
  const [message, setMessage] = useState(schedule?.message ?? "");
  const [cron, setCron] = useState(schedule?.cron ?? "");
  const [timezone, setTimezone] = useState(schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [isolated, setIsolated] = useState(schedule?.isolated ?? false);
  const [limit, setLimit] = useState(schedule && schedule.maxExecutions >= 0 ? String(schedule.maxExecutions) : "");
  const maxExecutions = limit === "" ? -1 : Number(limit);
  const save = useAction({
    act: () => {
      const body = { cron: cron.trim(), timezone: timezone.trim(), isolated, maxExecutions, ...(type === "message" ? { message } : {}) };
      if (schedule !== undefined) return ask(api.PATCH("/api/schedules/{id}", { params: { path: { id: schedule.id } }, body }));
      return ask(api.POST("/api/schedules", { body: { ...body, type, sessionId: session, targetId: type === "task" ? target : null } }));
    },
    failed: "The schedule was not saved",
    stale: () => [["schedules"]],
    quiet: true,
    done: (answer) => {
      toast({ text: "Saved." });
      onDone(answer.schedule.id);
    },
  });
  const wrong = cron === "" ? null : complaintOf(cron);
  const refused = save.error instanceof Refusal ? save.error : null;
  const about = (field: string) => (refused?.field === field ? refused.message : undefined);
  const placed = ["cron", "timezone", "message"].includes(refused?.field ?? "");
  const ready = cron.trim() !== "" && wrong === null && session !== "" && (type === "message" ? message.trim() !== "" : target !== "");
  return (
    <Dialog open wide title={schedule ? "Edit the schedule" : "New schedule"} onClose={onClose}>
      <form className="grid gap-x-5 gap-y-4 sm:grid-cols-2" onSubmit={(event) => { event.preventDefault(); if (ready) save.mutate(); }}>
        {!schedule && (
          <>
            <Choose label="In session" autoFocus value={session} onChange={(event) => setSession(event.target.value)} options={[{ value: "", label: "Choose a session" }, ...sessions.map((row) => ({ value: row.key, label: `${titleOfSession(row)} · ${row.agentSlug}` }))]} />
            <Choose label="What" value={type} onChange={(event) => setType(event.target.value === "task" ? "task" : "message")} options={[{ value: "message", label: "Send a message" }, { value: "task", label: "Work on a task" }]} />
          </>
        )}
        {type === "message"
          ? <TextArea label="Message" className="sm:col-span-2" rows={2} value={message} onChange={(event) => setMessage(event.target.value)} complaint={about("message")} />
          : !schedule && <Choose label="Task" className="sm:col-span-2" value={target} onChange={(event) => setTarget(event.target.value)} options={[{ value: "", label: "Choose a task" }, ...tasks.map((row) => ({ value: row.id, label: row.title }))]} />}
        <TextField label="When, as a cron expression" mono value={cron} onChange={(event) => setCron(event.target.value)} complaint={wrong ?? about("cron")} hint={cron === "" ? "Minute, hour, day, month, weekday." : wordsOf(cron)} />
        <Choose label="Common times" value={COMMON.some(({ value }) => value === cron) ? cron : ""} onChange={(event) => event.target.value && setCron(event.target.value)} options={COMMON} />
        <TextField label="Time zone" mono value={timezone} onChange={(event) => setTimezone(event.target.value)} complaint={about("timezone")} />
        <TextField label="At most how often" inputMode="numeric" placeholder="without limit" value={limit} onChange={(event) => setLimit(event.target.value.replace(/\D/g, ""))} />
        <Check label="In a session of its own" hint="Each time afresh, without what was said before." checked={isolated} onChange={(event) => setIsolated(event.target.checked)} />
        {cron !== "" && wrong === null && <Upcoming cron={cron} timezone={timezone} />}
        {save.error && !placed && <p role="alert" className="complaint sm:col-span-2">{save.error.message}</p>}
        <div className="flex justify-end gap-2 sm:col-span-2"><Button onClick={onClose}>Cancel</Button><Button type="submit" weight="main" busy={save.isPending} disabled={!ready}>{schedule ? "Save" : "Create"}</Button></div>
      </form>
    </Dialog>
  );
}
