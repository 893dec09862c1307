// The frame around every page: navigation, connection, bell, palette and shortcuts.

import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Me } from "../../data/api";
import { type Connection, useConnection } from "../../data/feed";
import { useAction } from "../../data/action";
import { cache } from "../../data/cache";
import { signOut } from "../../data/identity";
import { loadPages, NAVIGATION } from "../../routes";
import { Button } from "../button";
import { Brand, Icon } from "../icon";
import { useShortcuts } from "../keys";
import { Toasts } from "../toast";
import { GatewayBanner } from "./banner";
import { Bell } from "./bell";

const LOOK_EVERY_MS = 1_000;

// Other kinds of tokens have no mailbox.
const PEOPLE = ["owner", "user"];

export function Shell({ me }: { me: Me }) {
  const [palette, setPalette] = useState<"all" | "create" | null>(null);
  const [listing, setListing] = useState(false);
  const [menu, setMenu] = useState(false);
  const main = useRef<HTMLElement>(null);
  const navigate = useNavigate();
  const over = useOver(palette !== null || listing);
  useLater(loadPages);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => setMenu(false), [path]);
  useShortcuts([
    { keys: "mod+k", does: "Open the command palette", run: () => setPalette("all") },
    { keys: "?", does: "Show the keyboard shortcuts", run: () => setListing(true) },
    { keys: "c", does: "Create", run: () => setPalette("create") },
    ...NAVIGATION.map(({ name, to, keys }) => ({ keys: `g ${keys}`, does: `Go to ${name}`, run: () => void navigate({ to }) })),
  ]);
  return (
    <div className="flex min-h-dvh flex-col lg:grid lg:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#main" className="absolute -top-16 left-4 z-50 rounded-md bg-leaf px-4 py-2 focus:top-2.5"
        onClick={(event) => { event.preventDefault(); main.current?.focus(); }}
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-30 border-b border-rule bg-paper lg:flex lg:h-dvh lg:flex-col lg:border-r lg:border-b-0">
        <div className="flex items-center gap-1.5 px-4 py-2.5 lg:px-5 lg:pt-6">
          <Link to="/" aria-label="Carrel" className="mr-auto rounded-md no-underline"><Brand /></Link>
          <div className="lg:hidden"><ConnectionState /></div>
          {PEOPLE.includes(me.actor.kind) && <Bell />}
          <Button weight="bare" className="lg:hidden" aria-label="Menu" aria-expanded={menu} aria-controls="menu" onClick={() => setMenu(!menu)}>
            <Icon name={menu ? "close" : "menu"} />
          </Button>
        </div>
        <div id="menu" className={`${menu ? "flex" : "hidden"} max-h-[calc(100dvh-3.5rem)] flex-col overflow-y-auto px-3 pb-4 lg:flex lg:min-h-0 lg:max-h-none lg:flex-1`}>
          <button type="button" onClick={() => setPalette("all")} className="mx-2 my-2 flex items-center gap-2 rounded-md border border-rule bg-leaf px-2.5 py-1 text-sm text-soft hover:border-edge hover:text-ink">
            <Icon name="search" className="size-4" /><span className="mr-auto">Search</span><span className="kbd" aria-hidden="true">Ctrl K</span>
          </button>
          <nav aria-label="Main">
            {groups().map((group, i) => (
              <ul key={i} className={i === 0 ? "" : "mt-2 border-t border-rule pt-2"}>
                {group.map(({ name, to }) => (
                  <li key={to}>
                    <Link
                      to={to} activeOptions={{ exact: to === "/", includeSearch: false }}
                      className="block border-l-2 border-transparent px-3 py-[0.1875rem] text-soft no-underline hover:text-ink aria-[current]:border-green aria-[current]:font-semibold aria-[current]:text-ink max-lg:py-2"
                    >
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            ))}
          </nav>
          <Foot me={me} />
        </div>
      </header>
      <div className="flex min-w-0 flex-1 flex-col">
        <GatewayBanner />
        <main ref={main} id="main" tabIndex={-1} className="mx-auto flex w-full max-w-[84rem] min-w-0 flex-1 flex-col px-4 lg:px-10"><Outlet /></main>
      </div>
      <Toasts />
      {over && <over.Palette mode={palette} onClose={() => setPalette(null)} />}
      {over && <over.ShortcutsDialog open={listing} onClose={() => setListing(false)} />}
    </div>
  );
}

/** Load what was not needed to draw this page, once the page is quiet: it is there before the server may be away. */
function useLater(load: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (cache.isFetching() > 0) return;
      clearInterval(timer);
      load();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [load]);
}

/** The palette and the list of keys: loaded later, or as soon as one of them is wanted. */
function useOver(wanted: boolean) {
  const [over, setOver] = useState<typeof import("./over") | null>(null);
  const load = useCallback(() => void import("./over").then(setOver, () => {}), []);
  useLater(load);
  useEffect(() => {
    if (wanted) load();
  }, [wanted, load]);
  return over;
}

function groups() {
  return [1, 2, 3, 4].map((group) => NAVIGATION.filter((each) => each.group === group)).filter((group) => group.length > 0);
}

function Foot({ me }: { me: Me }) {
  const leave = useAction({ act: signOut, failed: "You were not signed out" });
  return (
    <div className="mt-auto grid gap-1 px-3 pt-4 text-[0.8125rem] text-soft">
      <div className="hidden lg:block"><ConnectionState /></div>
      <p className="flex items-center justify-between gap-2">
        <span className="truncate" title={me.account.name}>{me.actor.name || me.actor.kind}</span>
        <Button weight="plain" busy={leave.isPending} onClick={() => leave.mutate()}>{leave.isPending ? "Signing out…" : "Sign out"}</Button>
      </p>
    </div>
  );
}

const MEANING: Record<Connection, [string, string, string]> = {
  connecting: ["Connecting", "Connecting to the server.", "bg-edge"],
  live: ["Live", "This page updates by itself.", "bg-green"],
  reconnecting: ["Reconnecting", "Connection lost; this page may be out of date.", "bg-brass-edge animate-breathe"],
  offline: ["Offline", "The server cannot be reached; this page is out of date.", "border-2 border-red"],
};

// It stands in two places, of which the width of the window shows one.
function ConnectionState() {
  const state = useConnection();
  const [word, meaning, dot] = MEANING[state];
  const look = state === "offline" ? "font-semibold text-red" : state === "reconnecting" ? "text-brass" : "text-soft";
  return (
    <p role="status" aria-label="Connection" title={meaning} data-state={state} className={`inline-flex items-center gap-2 text-[0.8125rem] ${look}`}>
      <span aria-hidden="true" className={`size-2 rounded-full ${dot}`} />{word}
    </p>
  );
}
