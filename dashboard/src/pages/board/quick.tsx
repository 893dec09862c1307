// A new task in one line: its title, with @agent and #tag where one wants them.

import { type FormEvent, useState } from "react";
import type { Shapes } from "../../data/api";
import type { Directory } from "../../data/places";
import { useCreate } from "../../data/tasks";
import type { BoardSearch } from "./address";

/** Return the task that a line asks for. A name that nobody has stays in the title. */
export function readLine(line: string, { agents, people }: Directory): Shapes["NewTask"] {
  const agentIds: string[] = [];
  const userIds: string[] = [];
  const tags: string[] = [];
  const words = line.trim().split(/\s+/).filter((word) => {
    const name = word.slice(1).toLowerCase();
    if (word.startsWith("#") && /^[\p{L}\p{N}_-]+$/u.test(name)) return tags.push(name) < 0;
    const agent = word.startsWith("@") ? agents.find((each) => each.slug === name) : undefined;
    const person = word.startsWith("@") ? people.find((each) => each.slug === name) : undefined;
    if (agent) return agentIds.push(agent.id) < 0;
    if (person) return userIds.push(person.id) < 0;
    return true;
  });
  return { title: words.join(" "), tags, assignedAgentIds: agentIds, assignedUserIds: userIds };
}

/** Return where a new task belongs, by what the board shows. */
export const placeBy = ({ space, topic }: BoardSearch): Partial<Shapes["NewTask"]> => ({
  ...(space ? { spaceId: space } : {}),
  ...(topic && topic !== "none" ? { topicId: topic } : {}),
});

export function QuickAdd({ search, directory }: { search: BoardSearch; directory: Directory }) {
  const [line, setLine] = useState("");
  const create = useCreate();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = readLine(line, directory);
    if (body.title === "") return;
    setLine("");
    create.mutate({ ...body, ...placeBy(search) }, { onError: () => setLine((now) => now || line) });
  };
  return (
    <form onSubmit={submit} className="px-1.5 pb-1.5">
      <input
        className="field min-h-8! py-1! text-[0.8438rem]!" aria-label="New task" placeholder="New task…" title="Enter adds it. @agent assigns, #tag tags." autoComplete="off"
        value={line} onChange={(event) => setLine(event.target.value)}
      />
    </form>
  );
}
