// The empty house: how to begin.

import { h } from "../dom.js";

/** Give the page's first words, shown while there is no lane. */
export function beginning() {
  return h("div", { class: "beginning", hidden: true },
    h("p", { class: "beginning-lead" }, "No lane has been spoken in yet."),
    h("p", {}, "A lane opens with the first thing said to an agent. Say something here, from a terminal, or from a program; each appears on this page as it happens."),
    h("ul", { class: "ways" },
      h("li", {}, h("h3", {}, "Here"), h("a", { class: "button main", href: "/chat" }, "Start a chat")),
      h("li", {}, h("h3", {}, "In a terminal"), h("pre", { class: "code", tabindex: 0 }, h("code", {}, 'carrel send main "Hello"'))),
      h("li", {}, h("h3", {}, "From a program"), h("pre", { class: "code", tabindex: 0 }, h("code", {},
        `curl ${location.origin}/api/runs \\\n  -H "Authorization: Bearer $CARREL_TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"message": "Hello"}'`))),
    ),
  );
}
