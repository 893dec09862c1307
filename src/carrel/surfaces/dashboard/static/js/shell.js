// The frame around every route: logo, navigation, connection state, bell and sign-out.

import { ask } from "./api.js";
import { bell } from "./bell.js";
import { brand } from "./brand.js";
import { actionButton } from "./action.js";
import { gatewayBanner } from "./gateways.js";
import { h, setAttribute, setChildren, setText } from "./dom.js";

const ROUTES = [
  { name: "Home", href: "/" },
  { name: "Chat", href: "/chat" },
];

// Other kinds of tokens have no mailbox.
const PEOPLE = ["owner", "user"];

const CONNECTION = {
  connecting: ["Connecting", "Connecting to the server."],
  live: ["Live", "This page updates by itself."],
  reconnecting: ["Reconnecting", "Connection lost; this page may be out of date."],
  offline: ["Offline", "The server cannot be reached; this page is out of date."],
};

/** Return the shell: `{element, show(view, route), stop()}`. */
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
  const leave = actionButton({
    label: "Sign out", busy: "Signing out…", kind: "plain",
    act: async () => {
      await ask("DELETE", "/api/auth/session");
      signedOut();
    },
  });
  const notifications = PEOPLE.includes(me.actor?.kind) ? bell({ feed }) : null;
  const gateways = gatewayBanner({ feed });
  const element = h("div", { class: "shell" },
    h("a", { class: "skip", href: "#main", on: { click: (event) => { event.preventDefault(); main.focus(); } } }, "Skip to content"),
    h("header", { class: "top" },
      h("a", { href: "/", class: "brand-link", "aria-label": "Carrel" }, brand()),
      h("nav", { "aria-label": "Main" }, h("ul", {}, links.map((link) => h("li", {}, link.element)))),
      h("div", { class: "top-end" },
        connection,
        notifications?.button,
        notifications?.panel,
        h("span", { class: "who", title: me.account?.name ?? "" }, me.actor?.name ?? me.actor?.kind ?? ""),
        leave.nodes,
      ),
    ),
    gateways.element,
    main,
  );
  return {
    element,
    show(view, route) {
      for (const link of links) setAttribute(link.element, "aria-current", link.href === route ? "page" : null);
      setAttribute(element, "data-route", route ?? "");
      setChildren(main, view.element);
      notifications?.close();
    },
    stop() {
      unlisten();
      notifications?.stop();
      gateways.stop();
    },
  };
}
