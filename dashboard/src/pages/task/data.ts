// What is read of one task. All keys begin with the task, so that every event about it makes them out of date.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../data/api";

const MESSAGES_PAGE = 100;
const ACTIVITIES_MOST = 200;

const at = (id: string) => ({ path: { id } });

/** The thread, its newest part first; further pages are older. */
export const threadQuery = (id: string) => infiniteQueryOptions({
  queryKey: ["task", id, "thread"],
  queryFn: ({ signal, pageParam }) => ask(api.GET("/api/tasks/{id}/thread", {
    params: { ...at(id), query: { limit: MESSAGES_PAGE, ...(pageParam === null ? {} : { before: pageParam }) } }, signal,
  })),
  initialPageParam: null as number | null,
  getNextPageParam: (page) => (page.messages.length < MESSAGES_PAGE ? undefined : page.messages[0]?.seq),
});

export const whyQuery = (id: string) => queryOptions({
  queryKey: ["task", id, "why"],
  queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}/why", { params: at(id), signal })),
});

export const activitiesQuery = (id: string) => queryOptions({
  queryKey: ["task", id, "activities"],
  queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}/history", { params: { ...at(id), query: { messageLimit: 1, activityLimit: ACTIVITIES_MOST } }, signal })),
});

export const taskSessionsQuery = (id: string) => queryOptions({
  queryKey: ["task", id, "sessions"],
  queryFn: ({ signal }) => ask(api.GET("/api/tasks/{id}/sessions", { params: at(id), signal })),
});
