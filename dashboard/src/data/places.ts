// Spaces, topics and people: where work belongs and who can have it.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Agent, api, ask, readAll, type Shapes } from "./api";
import { isOwner } from "./identity";
import { agentsQuery } from "./queries";

export type Person = Shapes["UserShape"];
const PAGE = 200;

export const topicsQuery = () => queryOptions({
  queryKey: ["topics"],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/topics", { params: { query: { limit: PAGE, cursor } }, signal })),
    (page) => page.topics,
  ),
});

export const spacesQuery = () => queryOptions({
  queryKey: ["spaces"],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/spaces", { params: { query: { limit: PAGE, cursor } }, signal })),
    (page) => page.spaces,
  ),
});

/** The people of the account; empty for everybody but its owner, who alone may list them. */
export const usersQuery = () => queryOptions({
  queryKey: ["users"],
  queryFn: async ({ signal }): Promise<Person[]> => (isOwner() ? (await ask(api.GET("/api/users", { signal }))).users : []),
});

export type Directory = {
  agents: Agent[];
  people: Person[];
  /** What an agent or a person is called; an id that is not known stays as it is. */
  nameOf: (id: string) => string;
};

// Whoever signs in with an owner's token reads and writes under this id.
const OWNERS = "owners";
const NOBODY: Person[] = [];
const NO_AGENTS: Agent[] = [];

/** Everyone who can have a task, by name. */
export function useDirectory(): Directory {
  const agents = useQuery(agentsQuery()).data?.agents ?? NO_AGENTS;
  const people = useQuery(usersQuery()).data ?? NOBODY;
  return useMemo(() => {
    const names = new Map([[OWNERS, "the owner"], ...[...agents, ...people].map((each) => [each.id, each.name || each.slug] as const)]);
    return { agents, people, nameOf: (id) => names.get(id) ?? id };
  }, [agents, people]);
}
