// The line to write in, and the two buttons beside it.

import { lanePath, post } from "../api.js";
import { doing } from "../doing.js";
import { h, setAttribute } from "../dom.js";

// What was being written when the reader looked elsewhere, by lane, for as long as the page is open.
const drafts = new Map();

/** Give `{element, field, setOccupied(bool)}`; `send(text)` gets every line the reader sends. */
export function composer({ key, send }) {
  const field = h("textarea", { class: "field message", id: "message", rows: 1, autocomplete: "off", placeholder: "Write to this agent…" });
  field.value = drafts.get(key) ?? "";
  const sendButton = h("button", { type: "submit", class: "button main" }, "Send");
  const stop = doing({
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
    h("p", { class: "hint" }, "Enter sends, Shift+Enter breaks the line, / begins a command."),
    stop.complaint,
  );
  return {
    element,
    field,
    setOccupied(occupied) {
      stop.button.dataset.idle = String(!occupied);
      setAttribute(stop.button, "title", occupied ? "Cancel what runs and waits in this lane" : "Nothing runs here");
    },
  };
}
