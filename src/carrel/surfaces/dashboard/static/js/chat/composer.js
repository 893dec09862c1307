// The message field and its two buttons.

import { lanePath, post } from "../api.js";
import { actionButton } from "../action.js";
import { h, setAttribute } from "../dom.js";

// Unsent drafts by lane, kept while the page is open.
const drafts = new Map();

/** Return `{element, field, setOccupied(bool)}`; `send(text)` is called with every message. */
export function composer({ key, send }) {
  const field = h("textarea", { class: "field message", id: "message", rows: 1, autocomplete: "off", placeholder: "Message this agent…" });
  field.value = drafts.get(key) ?? "";
  const sendButton = h("button", { type: "submit", class: "button main" }, "Send");
  const stop = actionButton({
    label: "Stop", busy: "Stopping…", kind: "quiet",
    act: () => (stop.button.dataset.idle === "true" ? Promise.resolve() : post(lanePath(key, "/stop"))),
  });

  function submit(event) {
    event.preventDefault();
    const text = field.value.trim();
    field.focus();
    if (text === "") return;
    field.value = "";
    drafts.delete(key);
    send(text);
  }

  field.addEventListener("input", () => drafts.set(key, field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });

  const element = h("form", { class: "composer", "aria-label": "Write", on: { submit } },
    h("label", { for: "message", class: "sr" }, "Message"),
    field,
    h("div", { class: "composer-buttons" }, sendButton, stop.button),
    h("p", { class: "hint" }, "Enter to send, Shift+Enter for a new line, / for commands."),
    stop.complaint,
  );
  return {
    element,
    field,
    setOccupied(occupied) {
      stop.button.dataset.idle = String(!occupied);
      setAttribute(stop.button, "title", occupied ? "Cancel the running and queued runs of this lane" : "Nothing is running");
    },
  };
}
