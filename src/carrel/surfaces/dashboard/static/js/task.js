// One task: what it is, how far it is, and its thread, live.

import { age } from "./ages.js";
import { get, url } from "./api.js";
import { h, keyed, setText } from "./dom.js";
import { capital } from "./format.js";
import { markdown } from "./markdown/view.js";
import { prose } from "./prose.js";
import { refresher } from "./refresh.js";

const MESSAGES_READ = 200;

/** Open a task: `{element, focus, stop}`. */
export function taskView({ feed, setTitle }, id) {
  const heading = h("h1", { tabindex: -1 }, "Task");
  const facts = h("p", { class: "note" });
  const description = h("p", { class: "prose" });
  const complaint = h("p", { class: "complaint", role: "alert" });
  const empty = h("p", { class: "note", hidden: true }, "No messages yet.");
  const list = h("div", { class: "thread" });
  const ending = new AbortController();
  const path = `/api/tasks/${encodeURIComponent(id)}`;
  setTitle("Task");

  async function read() {
    const [{ task }, { messages }] = await Promise.all([
      get(path, { signal: ending.signal }),
      get(url(`${path}/thread`, { limit: MESSAGES_READ }), { signal: ending.signal }),
    ]);
    setText(complaint, "");
    setText(heading, task.title);
    setTitle(task.title);
    setText(facts, [capital(task.status.replaceAll("_", " ")), task.blockedReason, ...task.assignedAgentIds].filter(Boolean).join(" · "));
    setText(description, task.description);
    empty.hidden = messages.length > 0;
    keyed(list, messages, (message) => message.id, messageRow);
  }

  const refresh = refresher(read, (error) => setText(complaint, error.message));
  const unlisten = feed.listen(({ reread, event }) => {
    if (reread || event.taskId === id) refresh.ask();
  });
  refresh.ask();
  return {
    element: h("div", { class: "home" }, heading, facts, complaint, description,
      h("section", { "aria-label": "Thread" }, h("h2", {}, "Thread"), empty, list)),
    focus: () => heading.focus(),
    stop() {
      ending.abort();
      refresh.stop();
      unlisten();
    },
  };
}

function messageRow(message) {
  const when = age("", " ago");
  when.set(message.createdAt);
  const element = h("article", { class: `row said ${message.role}`, "aria-label": message.authorName },
    h("p", { class: "speaker", "aria-hidden": "true" }, message.authorName),
    h("div", { class: "words" }, message.authorKind === "agent" ? markdown(message.content) : prose(message.content),
      h("p", { class: "foot" }, when.element)));
  return { element, update() {}, gone: when.drop };
}

/** Open the page of an address that has none: `{element, focus, stop}`. */
export function missingView({ setTitle }) {
  const heading = h("h1", { tabindex: -1 }, "Page not found");
  setTitle("Page not found");
  return {
    element: h("div", { class: "home" }, heading, h("p", {}, "There is no page at this address. ", h("a", { href: "/" }, "Go to Home"))),
    focus: () => heading.focus(),
    stop() {},
  };
}
