// What seldom changes: the account, its spaces, the server's settings.

import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./api";

export const spacesQuery = queryOptions({
  queryKey: ["spaces"],
  queryFn: ({ signal }) => ask(api.GET("/api/spaces", { signal })),
});

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => ask(api.GET("/api/settings", { signal })),
});

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => ask(api.GET("/api/account", { signal })),
});
