// What can be done with the chosen tasks: only the moves that all of them can make.

import type { Task } from "../../data/api";
import { movesOf, type Status, STATUS_NAMES } from "../../data/moves";
import type { Directory } from "../../data/places";
import { useAssign } from "../../data/tasks";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { Menu } from "../../ui/menu";

type Props = { tasks: Task[]; directory: Directory; onMove: (wanted: { tasks: Task[]; to: Status }) => void; onClear: () => void };

export function Bulk({ tasks, directory, onMove, onClear }: Props) {
  const assign = useAssign();
  const shared = tasks.map(movesOf).reduce((all, each) => all.filter((status) => each.includes(status)));
  useShortcuts([{ keys: "Escape", run: onClear }]);
  const give = (party: { agentIds?: string[]; userIds?: string[] }) => {
    for (const task of tasks) assign.mutate({ task, ...party });
  };
  const move = (to: Status) => {
    onMove({ tasks, to });
    if (to !== "archived" && to !== "blocked") onClear();
  };
  return (
    <div role="toolbar" aria-label="Chosen tasks" className="leaf fixed bottom-4 left-1/2 z-20 flex w-max max-w-[calc(100vw-1.5rem)] -translate-x-1/2 flex-wrap items-center gap-2 px-3 py-2">
      <span role="status" className="text-sm font-semibold">{plural(tasks.length, "task")} chosen</span>
      <Menu align="start" trigger={<Button small disabled={shared.length === 0} title={shared.length === 0 ? "There is no move that all of them can make" : undefined}>Move to<Icon name="down" className="size-4" /></Button>}
        choices={shared.filter((to) => to !== "archived").map((to) => ({ label: STATUS_NAMES[to], run: () => move(to) }))} />
      <Menu align="start" trigger={<Button small>Assign to<Icon name="down" className="size-4" /></Button>}
        choices={[
          ...directory.agents.filter(({ enabled }) => enabled).map(({ id, name }) => ({ label: name, run: () => give({ agentIds: [id] }) })),
          ...directory.people.map(({ id, name }) => ({ label: name, run: () => give({ userIds: [id] }) })),
        ]} />
      <Button small weight="danger" onClick={() => move("archived")}>Archive</Button>
      <Button small weight="bare" aria-label="Choose none" onClick={onClear}><Icon name="close" className="size-4" /></Button>
    </div>
  );
}
