// Every page: its address, what its address may say, and where it stands in the navigation. A new page is a line in `pages`,
// and one in NAVIGATION if it has a link of its own. Pages are loaded when they are opened.

import { createRootRoute, createRoute, createRouter, type ErrorComponentProps, lazyRouteComponent, useRouterState } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { untilReachable } from "./data/api";
import { useConnection } from "./data/feed";
import { currentIdentity, listenIdentity } from "./data/identity";
import { agentsSearch } from "./pages/agents/address";
import { boardSearch } from "./pages/board/address";
import { chatSearch } from "./pages/chat/address";
import { contextSearch } from "./pages/context/address";
import { goalsSearch } from "./pages/goals/address";
import { healthSearch } from "./pages/health/address";
import { homeSearch } from "./pages/home/address";
import { isolationSearch } from "./pages/isolation/address";
import { mcpSearch } from "./pages/mcp/address";
import { memorySearch } from "./pages/memory/address";
import { modelsSearch } from "./pages/models/address";
import { runSearch, runsSearch } from "./pages/runs/address";
import { schedulesSearch } from "./pages/schedules/address";
import { searchSearch } from "./pages/search/address";
import { sessionSearch, sessionsSearch } from "./pages/sessions/address";
import { settingsSearch } from "./pages/settings/address";
import { spacesSearch } from "./pages/spaces/address";
import { taskSearch } from "./pages/task/address";
import { tokensSearch } from "./pages/tokens/address";
import { usageSearch } from "./pages/usage/address";
import { webhooksSearch } from "./pages/webhooks/address";
import { Away, ErrorState } from "./ui/failure";
import { NotFound } from "./ui/shell/missing";
import { Shell } from "./ui/shell/shell";
import { SignIn, Unreachable } from "./ui/shell/signin";
import { SkeletonRows } from "./ui/skeleton";
import { Title } from "./ui/title";

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });
const at = () => root;
const nothing = () => ({});

/** Load a page's code, or wait for a server that is away. The router answers missing code by loading the whole app anew. */
const code = <Module,>(load: () => Promise<Module>) => () => load().catch(async (error: unknown) => {
  await untilReachable();
  throw error;
});

const pages = [
  createRoute({ getParentRoute: at, path: "/", validateSearch: homeSearch, component: lazyRouteComponent(code(() => import("./pages/home/home")), "Home") }),
  createRoute({ getParentRoute: at, path: "/chat", validateSearch: chatSearch, component: lazyRouteComponent(code(() => import("./pages/chat/chat")), "Chat") }),
  createRoute({ getParentRoute: at, path: "/chat/$", validateSearch: chatSearch, component: lazyRouteComponent(code(() => import("./pages/chat/chat")), "Chat") }),
  createRoute({ getParentRoute: at, path: "/search", validateSearch: searchSearch, component: lazyRouteComponent(code(() => import("./pages/search/search")), "Search") }),
  createRoute({ getParentRoute: at, path: "/memory", validateSearch: memorySearch, component: lazyRouteComponent(code(() => import("./pages/memory/memory")), "Memory") }),
  createRoute({ getParentRoute: at, path: "/agents", validateSearch: agentsSearch, component: lazyRouteComponent(code(() => import("./pages/agents/agents")), "Agents") }),
  createRoute({ getParentRoute: at, path: "/usage", validateSearch: usageSearch, component: lazyRouteComponent(code(() => import("./pages/usage/usage")), "Usage") }),
  createRoute({ getParentRoute: at, path: "/health", validateSearch: healthSearch, component: lazyRouteComponent(code(() => import("./pages/health/health")), "HealthPage") }),
  createRoute({ getParentRoute: at, path: "/models", validateSearch: modelsSearch, component: lazyRouteComponent(code(() => import("./pages/models/models")), "Models") }),
  createRoute({ getParentRoute: at, path: "/mcp-servers", validateSearch: mcpSearch, component: lazyRouteComponent(code(() => import("./pages/mcp/servers")), "McpServers") }),
  createRoute({ getParentRoute: at, path: "/schedules", validateSearch: schedulesSearch, component: lazyRouteComponent(code(() => import("./pages/schedules/schedules")), "Schedules") }),
  createRoute({ getParentRoute: at, path: "/webhooks", validateSearch: webhooksSearch, component: lazyRouteComponent(code(() => import("./pages/webhooks/webhooks")), "Webhooks") }),
  createRoute({ getParentRoute: at, path: "/spaces", validateSearch: spacesSearch, component: lazyRouteComponent(code(() => import("./pages/spaces/spaces")), "Spaces") }),
  createRoute({ getParentRoute: at, path: "/tokens", validateSearch: tokensSearch, component: lazyRouteComponent(code(() => import("./pages/tokens/tokens")), "TokensPage") }),
  createRoute({ getParentRoute: at, path: "/settings", validateSearch: settingsSearch, component: lazyRouteComponent(code(() => import("./pages/settings/settings")), "Settings") }),
  createRoute({ getParentRoute: at, path: "/board", validateSearch: boardSearch, component: lazyRouteComponent(code(() => import("./pages/board/board")), "Board") }),
  createRoute({ getParentRoute: at, path: "/goals", validateSearch: goalsSearch, component: lazyRouteComponent(code(() => import("./pages/goals/goals")), "Goals") }),
  createRoute({ getParentRoute: at, path: "/tasks/$id", validateSearch: taskSearch, component: lazyRouteComponent(code(() => import("./pages/task/task")), "TaskPage") }),
  createRoute({ getParentRoute: at, path: "/sessions", validateSearch: sessionsSearch, component: lazyRouteComponent(code(() => import("./pages/sessions/sessions")), "Sessions") }),
  createRoute({ getParentRoute: at, path: "/sessions/$key", validateSearch: sessionSearch, component: lazyRouteComponent(code(() => import("./pages/sessions/session")), "SessionPage") }),
  createRoute({ getParentRoute: at, path: "/runs", validateSearch: runsSearch, component: lazyRouteComponent(code(() => import("./pages/runs/runs")), "Runs") }),
  createRoute({ getParentRoute: at, path: "/runs/$id", validateSearch: runSearch, component: lazyRouteComponent(code(() => import("./pages/runs/run")), "RunPage") }),
  createRoute({ getParentRoute: at, path: "/runs/$id/context", validateSearch: contextSearch, component: lazyRouteComponent(code(() => import("./pages/context/context")), "ContextPage") }),
  createRoute({ getParentRoute: at, path: "/isolation", validateSearch: isolationSearch, component: lazyRouteComponent(code(() => import("./pages/isolation/isolation")), "Isolation") }),
  createRoute({ getParentRoute: at, path: "/isolation/$key", validateSearch: nothing, component: lazyRouteComponent(code(() => import("./pages/isolation/walls")), "SessionIsolation") }),
] as const;

// The keys follow `g`. Group 1 is the daily work, 2 is looking closer, 3 is setting up, 4 is operating.
export const NAVIGATION = [
  { name: "Home", to: "/", keys: "h", group: 1 },
  { name: "Board", to: "/board", keys: "b", group: 1 },
  { name: "Goals", to: "/goals", keys: "o", group: 1 },
  { name: "Chat", to: "/chat", keys: "c", group: 1 },
  { name: "Sessions", to: "/sessions", keys: "s", group: 2 },
  { name: "Runs", to: "/runs", keys: "r", group: 2 },
  { name: "Isolation", to: "/isolation", keys: "i", group: 2 },
  { name: "Memory", to: "/memory", keys: "m", group: 2 },
  { name: "Search", to: "/search", keys: "f", group: 2 },
  { name: "Agents", to: "/agents", keys: "a", group: 3 },
  { name: "Models", to: "/models", keys: "l", group: 3 },
  { name: "MCP servers", to: "/mcp-servers", keys: "e", group: 3 },
  { name: "Schedules", to: "/schedules", keys: "d", group: 3 },
  { name: "Webhooks", to: "/webhooks", keys: "w", group: 3 },
  { name: "Spaces", to: "/spaces", keys: "p", group: 3 },
  { name: "Tokens", to: "/tokens", keys: "t", group: 3 },
  { name: "Usage", to: "/usage", keys: "u", group: 4 },
  { name: "Health", to: "/health", keys: "y", group: 4 },
  { name: "Settings", to: "/settings", keys: ",", group: 4 },
] as const;

// What `c` and the palette create: a page that opens its form by its address.
export const CREATE = [
  { name: "chat", to: "/chat", search: { new: "1" } },
  { name: "memory", to: "/memory", search: { add: "1" } },
  { name: "agent", to: "/agents", search: { new: "1" } },
  { name: "schedule", to: "/schedules", search: { new: "1" } },
  { name: "space", to: "/spaces", search: { new: "1" } },
  { name: "token", to: "/tokens", search: { new: "token" } },
  { name: "person", to: "/tokens", search: { new: "person" } },
  { name: "task", to: "/board", search: { new: "1" } },
] as const;

export const router = createRouter({
  routeTree: root.addChildren(pages),
  defaultErrorComponent: Broken,
  defaultPendingComponent: Pending,
  defaultPreload: "intent",
  scrollRestoration: true,
  // Every value of an address is text, as a person would write it.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch(search) {
    const kept = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== "");
    const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return text === "" ? "" : `?${text}`;
  },
});

/** Load the code of every page, so that each opens at once, and also while the server is away. */
export function loadPages(): void {
  for (const { options } of pages) void options.component?.preload?.();
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function Root() {
  const identity = useSyncExternalStore(listenIdentity, currentIdentity);
  if (identity.stage === "entering") return null;
  if (identity.stage === "out") return <SignIn key={identity.complaint} complaint={identity.complaint} />;
  if (identity.stage === "unreachable") return <Unreachable complaint={identity.complaint} />;
  return <Shell me={identity.me} />;
}

function Broken({ error, reset }: ErrorComponentProps) {
  return <ErrorState title="This page failed" error={error} retry={reset} />;
}

/** A page whose code is on its way. */
function Pending() {
  const connection = useConnection();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const name = NAVIGATION.find(({ to }) => to !== "/" && path.startsWith(to))?.name ?? "Home";
  return (
    <>
      <Title name={name} />
      {connection === "live" || connection === "connecting" ? <div className="pt-4"><SkeletonRows /></div> : <Away />}
    </>
  );
}
