// One task: what it is, how far it is, what it waits for, and its thread, live.

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { taskQuery } from "../../data/queries";
import { useLiveBoard } from "../../data/tasks";
import { Loaded } from "../../ui/failure";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import { TaskActions } from "./actions";
import { Relations } from "./relations";
import { Properties } from "./properties";
import { Description, Panels } from "./panels";
import { Waiting } from "./waiting";
import { WhyBox } from "./why";

export function TaskPage() {
  const { id } = useParams({ from: "/tasks/$id" });
  const { tab } = useSearch({ from: "/tasks/$id" });
  const navigate = useNavigate({ from: "/tasks/$id" });
  const open = (other: string) => void navigate({ to: "/tasks/$id", params: { id: other } });
  useLiveBoard();
  return (
    <Loaded query={useQuery(taskQuery(id))} heading="Task" waiting={<SkeletonRows count={4} label="Loading the task" />}>
      {({ task }) => (
        <>
          <Title key={task.id} name={task.title} actions={<TaskActions task={task} />} />
          <div className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-6 py-5 lg:grid-cols-[minmax(0,1fr)_19rem]">
            <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-5">
              <WhyBox task={task} onOpen={open} />
              <Waiting task={task} />
              <Description task={task} />
              <Panels task={task} tab={tab} onTab={(next) => void navigate({ search: { tab: next }, replace: true })} />
            </div>
            <aside aria-label="About this task" className="grid grid-cols-[minmax(0,1fr)] content-start gap-6">
              <Properties task={task} />
              <Relations task={task} onOpen={open} />
            </aside>
          </div>
        </>
      )}
    </Loaded>
  );
}
