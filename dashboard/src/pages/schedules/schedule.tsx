// One schedule beside the list: what it does, when next, how it went last.

import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Ident } from "../../ui/ident";
import { Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import { nextTimes, wordsOf } from "./cron";
import { Moment, type Schedule, stateOf, titleOf, useScheduling } from "./schedules";

const TIMES_SHOWN = 5;

type Props = { schedule: Schedule; sessionName: string; onEdit: () => void; onClose: () => void };

export function SchedulePeek({ schedule, sessionName, onEdit, onClose }: Props) {
  const [asking, setAsking] = useState(false);
  const { enable, run, remove } = useScheduling();
  const { id, enabled, maxExecutions } = schedule;
  return (
    <Peek
      title={titleOf(schedule)} onClose={onClose}
      actions={<><Button small onClick={onEdit}>Edit</Button><Button small weight="danger" onClick={() => setAsking(true)}>Delete</Button></>}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <div className="flex flex-wrap gap-2">
          <Button weight="main" busy={run.isPending} onClick={() => run.mutate(id)}>Run now</Button>
          <Button onClick={() => enable.mutate({ id, enabled: !enabled })}>{enabled ? "Pause" : "Resume"}</Button>
        </div>
        <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
          <dt>State</dt><dd>{stateOf(schedule)}</dd>
          <dt>When</dt><dd>{wordsOf(schedule.cron)} <code className="text-xs text-soft">{schedule.cron}</code><span className="note block">{schedule.timezone}</span></dd>
          <dt>Agent</dt><dd><Link to="/agents" search={{ peek: schedule.agentId }} className="underline"><AgentName id={schedule.agentId} /></Link></dd>
          <dt>Session</dt><dd><Link to="/chat/$" params={{ _splat: schedule.sessionKey }} className="underline">{sessionName}</Link>{schedule.isolated && <span className="note block">Each time in a fresh session of its own</span>}</dd>
          {schedule.type === "task" && schedule.targetId && <><dt>Task</dt><dd><Link to="/tasks/$id" params={{ id: schedule.targetId }} className="underline">Open the task</Link></dd></>}
          <dt>Times</dt><dd>{schedule.executionCount}{maxExecutions >= 0 && ` of ${maxExecutions}`}</dd>
          {schedule.lastAt && <><dt>Last</dt><dd><Age at={schedule.lastAt} ago />{schedule.lastStatus && `, ${schedule.lastStatus.replaceAll("_", " ")}`}{schedule.lastError && <span className="complaint block">{schedule.lastError}</span>}</dd></>}
          {schedule.retryAt && <><dt>Tries again</dt><dd><Moment at={schedule.retryAt} /></dd></>}
          <dt>Id</dt><dd><Ident text={id} /></dd>
        </dl>
        {enabled && <Upcoming cron={schedule.cron} timezone={schedule.timezone} first={schedule.nextAt} />}
        {schedule.message && <section aria-label="Message"><h3 className="border-b border-rule pb-1 text-base">Message</h3><Markdown text={schedule.message} className="pt-2" /></section>}
      </div>
      <Dialog open={asking} title="Delete this schedule?" about="What it sent and what came of it stays." onClose={() => setAsking(false)}>
        <div className="flex justify-end gap-2"><Button onClick={() => setAsking(false)}>Keep it</Button><Button weight="danger" onClick={() => { setAsking(false); onClose(); remove.mutate(id); }}>Delete</Button></div>
      </Dialog>
    </Peek>
  );
}

/** The next times of an expression; the server's own word about the first of them comes first. */
export function Upcoming({ cron, timezone, first = null }: { cron: string; timezone: string; first?: string | null }) {
  const times = useMemo(() => {
    const after = first === null ? Date.now() : Date.parse(first);
    const following = nextTimes(cron, timezone, after, first === null ? TIMES_SHOWN : TIMES_SHOWN - 1);
    return first === null ? following : [after, ...following];
  }, [cron, timezone, first]);
  if (times.length === 0) return null;
  return (
    <section aria-label="Next times">
      <h3 className="border-b border-rule pb-1 text-base">Next times</h3>
      <ol className="pt-1 text-sm">{times.map((at) => <li key={at} className="py-0.5 tabular-nums"><Moment at={at} /></li>)}</ol>
    </section>
  );
}
