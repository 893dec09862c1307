// A task beside the list it was opened from.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { taskQuery } from "../../data/queries";
import { Loaded } from "../../ui/failure";
import { Peek } from "../../ui/peek";
import { TaskActions } from "./actions";
import { Description, Panels } from "./panels";
import { Properties } from "./properties";
import { Relations } from "./relations";
import { Waiting } from "./waiting";
import { WhyBox } from "./why";

type Props = {
  id: string;
  tab: string | undefined;
  onTab: (tab: string | undefined) => void;
  onClose: () => void;
  /** Look at another task in the same place. */
  onOpen: (id: string) => void;
};

export function TaskPeek({ id, tab, onTab, onClose, onOpen }: Props) {
  const query = useQuery(taskQuery(id));
  return (
    <Peek title={query.data?.task.title ?? "Task"} onClose={onClose} actions={<Link to="/tasks/$id" params={{ id }} search={{ tab }} className="button plain whitespace-nowrap">Open page</Link>}>
      <Loaded query={query}>
        {({ task }) => (
          <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
            <div className="flex flex-wrap gap-2"><TaskActions task={task} /></div>
            <WhyBox task={task} onOpen={onOpen} />
            <Waiting task={task} />
            <Description task={task} />
            <Properties task={task} compact />
            <Relations task={task} onOpen={onOpen} beside />
            <Panels task={task} tab={tab} onTab={onTab} />
          </div>
        )}
      </Loaded>
    </Peek>
  );
}
