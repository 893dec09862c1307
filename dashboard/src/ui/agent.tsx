// An agent by the name that people gave it.

import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../data/queries";

/** Return what people call an agent; its id until the names are read, or when it has none. */
export function useAgentName(): (id: string | null | undefined) => string {
  const agents = useQuery(agentsQuery()).data?.agents;
  return (id) => agents?.find((each) => each.id === id)?.name || (id ?? "");
}

export function AgentName({ id, className }: { id: string | null | undefined; className?: string }) {
  const nameOf = useAgentName();
  return <span className={className}>{nameOf(id)}</span>;
}
