// One task: what it is, how far it is, and its thread, live.

import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { api, ask, type Shapes } from "../../data/api";
import { taskQuery } from "../../data/queries";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { Title } from "../../ui/title";

const MESSAGES_READ = 200;

export function TaskPage() {
  const { id } = useParams({ from: "/tasks/$id" });
  const thread = useQuery({
    queryKey: ["task", id, "thread"],
    queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}/thread", { params: { path: { id }, query: { limit: MESSAGES_READ } }, signal })),
  });
  return (
    <Loaded query={useQuery(taskQuery(id))} waiting={<Title name="Task" />}>
      {({ task }) => (
        <>
          <Title name={task.title}>
            <p className="note mt-1">{[capital(task.status.replaceAll("_", " ")), task.blockedReason, ...task.assignedAgentIds].filter(Boolean).join(" · ")}</p>
          </Title>
          {task.description && <Markdown text={task.description} className="py-4" />}
          <section aria-label="Thread" className="py-4">
            <h2 className="text-xl">Thread</h2>
            <Loaded query={thread}>
              {({ messages }) => messages.length === 0 ? <p className="note">No messages yet.</p> : messages.map((each) => <Line key={each.id} message={each} />)}
            </Loaded>
          </section>
        </>
      )}
    </Loaded>
  );
}

function Line({ message }: { message: Shapes["ThreadMessage"] }) {
  return (
    <article aria-label={message.authorName} className="border-b border-rule py-3">
      <p className="flex justify-between gap-4"><span className="agent">{message.authorName}</span><Age at={message.createdAt} ago className="note" /></p>
      <Markdown text={message.content} />
    </article>
  );
}
