// What stands around every route: the mark, the navigation, the state of the connection, the bell, the way out.

import { ask } from "./api.js";
import { bell } from "./bell.js";
import { brand } from "./brand.js";
import { doing } from "./doing.js";
import { h, setAttribute, setChildren, setText } from "./dom.js";

const ROUTES = [
  { name: "Home", href: "/" },
  { name: "Chat", href: "/chat" },
];

// Whoever else may look at the page has no mailbox.
const PEOPLE = ["owner", "user"];

const CONNECTION = {
  connecting: ["Connecting", "The page is connecting to the server."],
  live: ["Live", "What you see follows the server as it changes."],
  reconnecting: ["Reconnecting", "The connection was lost; what you see may be old."],
  offline: ["Offline", "The server cannot be reached; what you see is old."],
};

/** Give the shell: `element`, `show(view)` and `stop()`. */
export function shell({ feed, me, signedOut }) {
  const links = ROUTES.map(({ name, href }) => ({ href, element: h("a", { href }, name) }));
  const main = h("main", { id: "main", tabindex: -1 });
  const dot = h("span", { class: "connection-dot", "aria-hidden": "true" });
  const word = h("span", { class: "connection-word" });
  const connection = h("p", { class: "connection", role: "status", "aria-label": "Connection" }, dot, word);
  const unlisten = feed.listenState((state) => {
    const [text, meaning] = CONNECTION[state];
    setText(word, text);
    setAttribute(connection, "data-state", state);
    setAttribute(connection, "title", meaning);
  });
  const leave = doing({
    label: "Sign out", busy: "Signing out…", kind: "plain",
    act: async () => {
      await ask("DELETE", "/api/auth/session");
      signedOut();
    },
  });
  const rings = PEOPLE.includes(me.actor?.kind) ? bell({ feed }) : null;
  const element = h("div", { class: "shell" },
    h("a", { class: "skip", href: "#main", on: { click: (event) => { event.preventDefault(); main.focus(); } } }, "Skip to content"),
    h("header", { class: "top" },
      h("a", { href: "/", class: "brand-link", "aria-label": "Carrel" }, brand()),
      h("nav", { "aria-label": "Main" }, h("ul", {}, links.map((link) => h("li", {}, link.element)))),
      h("div", { class: "top-end" },
        connection,
        rings?.button,
        rings?.panel,
        h("span", { class: "who", title: me.account?.name ?? "" }, me.actor?.name ?? me.actor?.kind ?? ""),
        leave.nodes,
      ),
    ),
    main,
  );
  return {
    element,
    show(view, route) {
      for (const link of links) setAttribute(link.element, "aria-current", link.href === route ? "page" : null);
      setAttribute(element, "data-route", route);
      setChildren(main, view.element);
      rings?.close();
    },
    stop() {
      unlisten();
      rings?.stop();
    },
  };
}
