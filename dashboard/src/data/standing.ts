// What seldom changes: the account, the server's settings.

import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./api";

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => ask(api.GET("/api/settings", { signal })),
});

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => ask(api.GET("/api/account", { signal })),
});
