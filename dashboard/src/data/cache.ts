// The query cache: what was read from the server stays until the feed says that it changed.

import { QueryClient } from "@tanstack/react-query";
import { Refusal } from "./api";

const ATTEMPTS_MAX = 3;
const MINUTES_KEPT = 10;

export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: MINUTES_KEPT * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      // The server may be on this machine, whatever the browser knows of the network.
      networkMode: "always",
      retry: (failures, error) => failures < ATTEMPTS_MAX && error instanceof Refusal && error.passing,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});
