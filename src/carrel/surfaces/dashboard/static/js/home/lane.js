// One lane on Home: a row that expands to show its queue.

import { chatHref, get, lanePath, post, runPath } from "../api.js";
import { age } from "../ages.js";
import { actionButton } from "../action.js";
import { freshId, h, keyed, setAttribute, setText } from "../dom.js";
import { sourceOf, capital, firstLine } from "../format.js";
import { queuePicture } from "./queue.js";

/** Return the row of a lane, for `keyed`. */
export function laneRow(first) {
  const key = first.key;
  const state = h("span", { class: "state" });
  const link = h("a", { class: "lane-title", href: chatHref(key) });
  const agent = h("span", { class: "agent" });
  const latest = h("p", { class: "latest" });
  const picture = queuePicture();
  const facts = h("span", { class: "facts" });
  const since = age("working for ");
  const opened = age("open ");
  const active = age("active ", " ago");
  const panel = queuePanel(key);
  const toggle = h("button", {
    type: "button", class: "disclose", "aria-expanded": "false", "aria-controls": panel.element.id, on: { click: flip },
  }, h("span", { class: "disclose-sign", "aria-hidden": "true" }), h("span", { class: "sr" }));
  let open = false;

  function flip() {
    open = !open;
    setAttribute(toggle, "aria-expanded", String(open));
    panel.element.hidden = !open;
    if (open) panel.read();
  }

  const element = h("li", { class: "lane" },
    h("div", { class: "lane-line" },
      state,
      h("div", { class: "lane-what" }, h("h3", {}, agent, link), latest),
      picture.element,
      h("p", { class: "lane-when" }, facts, h("span", { class: "times" }, since.element, opened.element, active.element)),
      toggle,
    ),
    panel.element,
  );
  return {
    element,
    update(lane) {
      setAttribute(element, "data-state", lane.state);
      setText(state, capital(lane.state));
      setText(link, lane.title);
      setAttribute(link, "title", lane.key);
      setText(agent, lane.agent);
      setText(latest, lane.latest);
      latest.hidden = lane.latest === "";
      setText(facts, factsOf(lane));
      setText(toggle.lastChild, `Queue of ${lane.agent}, ${lane.title}`);
      since.set(lane.run?.startedAt ?? null);
      opened.set(lane.state === "closed" || lane.run ? null : lane.openedAt);
      active.set(lane.run ? null : lane.lastAt);
      picture.update(lane);
      if (open) panel.read();
    },
    gone() {
      since.drop();
      opened.drop();
      active.drop();
    },
  };
}

function factsOf(lane) {
  const generation = lane.generation === 0 ? "not opened yet" : `generation ${lane.generation}`;
  const kind = lane.kind === "other" ? "" : lane.kind;
  const channel = lane.channel === "unknown" || lane.channel === lane.kind ? "" : lane.channel;
  return [kind, channel, generation].filter((fact) => fact !== "").join(" · ");
}

/** The runs of a lane in order; loaded when it is opened and whenever the lane changes. */
function queuePanel(key) {
  const list = h("ol", { class: "queue-runs" });
  const note = h("p", { class: "note" }, "Loading…");
  const element = h("div", { class: "queue-panel", id: freshId("queue"), hidden: true }, note, list);
  async function read() {
    try {
      const { running, runs } = await get(lanePath(key, "/queue"));
      const all = [...(running ? [running] : []), ...runs];
      setText(note, all.length === 0 ? "The queue is empty." : "");
      note.hidden = all.length > 0;
      keyed(list, all, (run) => run.id, queueRow);
    } catch (error) {
      note.hidden = false;
      setText(note, error.message);
    }
  }
  return { element, read };
}

function queueRow(run) {
  const position = h("span", { class: "queue-position" });
  const text = h("span", { class: "queue-text" });
  const who = h("span", { class: "note" });
  const since = age();
  const cancel = actionButton({
    label: "Cancel", busy: "Cancelling…", done: "Cancelling…", kind: "quiet", name: `Cancel: ${firstLine(run.message?.text, 60)}`,
    act: () => post(runPath(run.id, "/cancel")),
  });
  const element = h("li", {}, position, text, h("span", { class: "queue-about" }, since.element, who), cancel.button, cancel.complaint);
  return {
    element,
    update(now) {
      setAttribute(element, "data-state", now.state);
      setText(position, now.state === "queued" ? `${now.queuePosition ?? "–"}` : now.state);
      setText(text, firstLine(now.message?.text) || "(no text)");
      setText(who, sourceOf(now.provenance));
      since.set(now.startedAt ?? now.createdAt);
    },
    gone: since.drop,
  };
}
