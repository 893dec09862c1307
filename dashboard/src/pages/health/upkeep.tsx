// What the server does by itself from time to time, done now.

import { useAction } from "../../data/action";
import { api, ask } from "../../data/api";
import { Button } from "../../ui/button";
import { toast } from "../../ui/toast";

const TASKS = [
  { name: "File now", about: "Sort what waits into topics.", failed: "Nothing was filed", begun: "Filing has begun.", act: () => ask(api.POST("/api/classifier/run", { body: {} })) },
  { name: "Renew digests", about: "Write the digests of topics and tasks anew, however old they are.", failed: "No digest was renewed", begun: "The digests are being renewed.", act: () => ask(api.POST("/api/digests/run", { body: {} })) },
  { name: "Rebuild the index", about: "Index everything anew; searches are answered meanwhile.", failed: "The index is not rebuilt", begun: "The index is being rebuilt.", act: () => ask(api.POST("/api/reindex", { body: { kind: "all" } })) },
];

export function Upkeep() {
  return <ul className="pt-3">{TASKS.map((task) => <Task key={task.name} {...task} />)}</ul>;
}

function Task({ name, about, failed, begun, act }: (typeof TASKS)[number]) {
  const run = useAction({ act: (): Promise<unknown> => act(), failed, stale: () => [["health"]], done: () => void toast({ text: begun }) });
  return (
    <li className="flex items-center justify-between gap-4 border-b border-rule py-1.5">
      <span className="note">{about}</span><Button small busy={run.isPending} onClick={() => run.mutate()}>{name}</Button>
    </li>
  );
}
