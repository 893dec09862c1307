// Home without any conversation: how to start one.

import { h } from "../dom.js";

/** Return what Home shows while there are no lanes. */
export function emptyHome() {
  return h("div", { class: "empty-home", hidden: true },
    h("p", { class: "empty-home-lead" }, "No conversations yet"),
    h("p", {}, "Send an agent its first message: here, from a terminal or from a program. Every conversation appears on this page, live."),
    h("ul", { class: "ways" },
      h("li", {}, h("h3", {}, "Here"), h("a", { class: "button main", href: "/chat" }, "Start a chat")),
      h("li", {}, h("h3", {}, "In a terminal"), h("pre", { class: "code", tabindex: 0 }, h("code", {}, 'carrel send main "Hello"'))),
      h("li", {}, h("h3", {}, "From a program"), h("pre", { class: "code", tabindex: 0 }, h("code", {},
        `curl ${location.origin}/api/runs \\\n  -H "Authorization: Bearer $CARREL_TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"message": "Hello"}'`))),
    ),
  );
}
