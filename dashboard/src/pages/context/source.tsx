// Where a line of a context comes from, beside the page: the entry, the task or the topic itself.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ask } from "../../data/api";
import { taskQuery } from "../../data/queries";
import { nameOfKey } from "../../data/words";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { Ident } from "../../ui/ident";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { Peek } from "../../ui/peek";
import type { Recalled } from "./model";

export function Source({ id, line, onClose }: { id: string; line: Recalled | undefined; onClose: () => void }) {
  return (
    <Peek title="Where this comes from" onClose={onClose}>
      <div className="grid gap-4">
        <Ident text={id} what="id" />
        {line && <p className="note">{line.kind} in {line.scope}, by {line.source}. {line.reason}</p>}
        <Thing id={id} line={line} />
      </div>
    </Peek>
  );
}

function Thing({ id, line }: { id: string; line: Recalled | undefined }) {
  if (id.startsWith("ent_") || line?.kind === "note" || line?.kind === "log") return <EntrySource id={id} />;
  if (line?.kind === "task" || id.startsWith("task_")) return <TaskSource id={id} />;
  if (line?.kind === "topic" || id.startsWith("topic_")) return <TopicSource id={id} />;
  return line ? <p className="whitespace-pre-wrap">{line.text}</p> : <p className="note">This is not a line of the step.</p>;
}

function EntrySource({ id }: { id: string }) {
  const entry = useQuery({ queryKey: ["log", id], queryFn: ({ signal }) => ask(api.GET("/api/log/{id}", { params: { path: { id } }, signal })) });
  return (
    <Loaded query={entry}>
      {({ log }) => (
        <>
          <p className="flex flex-wrap gap-x-3">{log.agentLabel || !log.agentId ? <span className="agent">{log.agentLabel || log.role}</span> : <AgentName id={log.agentId} className="agent" />}<Age at={log.createdAt} ago className="note" /></p>
          <Markdown text={log.content} />
          {log.sessionKey && <p>Said in <Link to="/sessions/$key" params={{ key: log.sessionKey }} className="underline">{nameOfKey(log.sessionKey)}</Link></p>}
          {log.runId && <p><Link to="/runs/$id" params={{ id: log.runId }} className="underline">The run it belongs to</Link></p>}
          {log.taskId && <p><Link to="/tasks/$id" params={{ id: log.taskId }} className="underline">Its task</Link></p>}
        </>
      )}
    </Loaded>
  );
}

function TaskSource({ id }: { id: string }) {
  return (
    <Loaded query={useQuery(taskQuery(id))}>
      {({ task }) => <><Link to="/tasks/$id" params={{ id }} className="font-serif text-xl underline">{task.title}</Link><Markdown text={task.description} /></>}
    </Loaded>
  );
}

function TopicSource({ id }: { id: string }) {
  const topic = useQuery({ queryKey: ["topic", id], queryFn: ({ signal }) => ask(api.GET("/api/topics/{id}", { params: { path: { id } }, signal })) });
  return <Loaded query={topic}>{(found) => <><p className="font-serif text-xl">{found.topic.name}</p><Markdown text={found.topic.description ?? ""} /></>}</Loaded>;
}
