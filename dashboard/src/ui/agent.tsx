// An agent by the name that people gave it.

import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../data/queries";
import { firstLine } from "../data/words";

const LONGEST = 28;

/** Return what people call an agent, shortened; its id until the names are read, or when it has none. */
export function useAgentName(): (id: string | null | undefined) => string {
  const agents = useQuery(agentsQuery()).data?.agents;
  return (id) => firstLine(agents?.find((each) => each.id === id || each.slug === id)?.name || id, LONGEST);
}

export function AgentName({ id, className }: { id: string | null | undefined; className?: string }) {
  const nameOf = useAgentName();
  return <span className={className}>{nameOf(id)}</span>;
}
