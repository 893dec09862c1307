// The questions and approvals of a task's runs, answered where one reads about the task.

import { useQuery } from "@tanstack/react-query";
import type { Task } from "../../data/api";
import { useDirectory } from "../../data/places";
import { runsQuery } from "../../data/queries";
import { waitsFor } from "../../data/words";
import { Age } from "../../ui/age";
import { AnswerForm, Question } from "../../ui/answer";

export function Waiting({ task }: { task: Task }) {
  const { nameOf } = useDirectory();
  const runs = useQuery(runsQuery({ taskId: task.id, state: "waiting" }, 1)).data?.rows ?? [];
  return runs.map((run) => (
    <section key={run.id} aria-label="Question" className="grid gap-3 rounded-r-lg border-l-[3px] border-brass-edge bg-brass-wash px-4 py-3">
      <p className="flex justify-between gap-4 text-sm"><span><b className="font-semibold text-brass">{nameOf(run.agentId)}</b> {waitsFor(run)}</span><Age at={run.startedAt} ago className="note" /></p>
      <Question run={run} />
      <AnswerForm run={run} />
    </section>
  ));
}
