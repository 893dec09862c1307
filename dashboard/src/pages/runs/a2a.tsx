// A run as another program sees it over A2A, and the same request as a command.

import { useQuery } from "@tanstack/react-query";
import type { Run } from "../../data/api";
import { Copy } from "../../ui/ident";
import { Code } from "../../ui/markdown";
import { pretty } from "./tools";

export function A2aView({ run }: { run: Run }) {
  const path = `/a2a/${encodeURIComponent(run.agentId)}/tasks/${encodeURIComponent(run.id)}`;
  const task = useQuery({
    queryKey: ["run", run.id, "a2a"],
    enabled: run.provenance.kind === "a2a",
    queryFn: async ({ signal }) => {
      const answer = await fetch(path, { signal, headers: { "A2A-Version": "1.0", Accept: "application/json" } });
      return { status: answer.status, body: await answer.text() };
    },
  });
  const isTask = task.data?.status === 200;
  return (
    <div className="grid gap-5 py-4">
      {isTask && task.data && (
        <section aria-label="Task" className="min-w-0"><h3 className="mb-1 text-lg">The task</h3><Code>{pretty(task.data.body)}</Code></section>
      )}
      {!isTask && !task.isFetching && <p>This run was not sent over A2A, so A2A clients do not see it. These commands send its message as a client would.</p>}
      {isTask && <Command name="Read it" text={curl("GET", path)} />}
      <Command name="Send the message" text={curl("POST", `/a2a/${encodeURIComponent(run.agentId)}`, rpc("SendMessage", { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: run.message.text }] } }))} />
      {isTask && <Command name="Cancel it" text={curl("POST", `/a2a/${encodeURIComponent(run.agentId)}`, rpc("CancelTask", { id: run.id }))} />}
      <p className="note">$CARREL_TOKEN is a token of yours; this page never shows one.</p>
    </div>
  );
}

function Command({ name, text }: { name: string; text: string }) {
  return (
    <section aria-label={name} className="min-w-0">
      <div className="mb-1 flex items-center justify-between gap-3"><h3 className="text-lg">{name}</h3><Copy text={text} name={`Copy ${name.toLowerCase()} as curl`} label="Copy as curl" /></div>
      <pre tabIndex={0} className="code wrap">{text}</pre>
    </section>
  );
}

const rpc = (method: string, params: object): object => ({ jsonrpc: "2.0", id: 1, method, params });

/** Return a shell command; what came from a message is quoted so that the shell runs nothing of it. */
function curl(method: "GET" | "POST", path: string, body?: object): string {
  const head = `curl -sS ${method === "POST" ? "-X POST " : ""}"${location.origin}${path}" \\\n  -H "Authorization: Bearer $CARREL_TOKEN" -H "A2A-Version: 1.0"`;
  if (body === undefined) return head;
  return `${head} -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
}

