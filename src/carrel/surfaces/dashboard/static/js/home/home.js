// Home: every lane, live, with what needs a person first.

import { h, keyed, setText } from "../dom.js";
import { refresher } from "../refresh.js";
import { plural } from "../format.js";
import { failedCard, waitingCard } from "./attention.js";
import { emptyHome } from "./empty.js";
import { laneRow } from "./lane.js";
import { passes, readHome } from "./snapshot.js";

const COUNTS = [
  ["busy", "busy lanes"],
  ["queued", "queued"],
  ["waiting", "waiting for you"],
  ["programs", "waiting for a program"],
  ["failed", "failed"],
];

// Old failures must not push the lanes off the screen; a button shows the rest.
const FAILED_SHOWN_FIRST = 4;
const FAILED_MORE = 20;

/** Open Home: `{element, focus, stop}`. */
export function homeView({ feed, setTitle }) {
  const heading = h("h1", { tabindex: -1 }, "Home");
  const figures = figuresOf();
  const waiting = section("Waiting for you", "waiting-list");
  const failed = section("Failed", "failed-list");
  const older = h("button", { type: "button", class: "button quiet", hidden: true }, "Show older");
  failed.element.append(older);
  const filter = h("input", { type: "search", class: "field", id: "filter", autocomplete: "off", placeholder: "agent, key, state or text" });
  const lanes = h("ul", { class: "lanes" });
  const laneNote = h("p", { class: "note", role: "status" }, "Loading lanes…");
  const complaint = h("p", { class: "complaint", role: "alert" });
  const empty = emptyHome();
  const ending = new AbortController();
  let failedShown = FAILED_SHOWN_FIRST;
  let snapshot = null;

  function draw() {
    if (snapshot === null) return;
    figures.update(snapshot);
    waiting.update(snapshot.waiting, waitingCard);
    failed.update(snapshot.failed.slice(0, failedShown), failedCard);
    older.hidden = !snapshot.moreFailed && snapshot.failed.length <= failedShown;
    const shown = filter.value.trim() === "" ? snapshot.lanes : snapshot.lanes.filter((lane) => passes(lane, filter.value.trim()));
    keyed(lanes, shown, (lane) => lane.key, laneRow);
    empty.hidden = snapshot.lanes.length > 0;
    filterRow.hidden = snapshot.lanes.length === 0;
    setText(laneNote, noteOf(shown.length));
    setTitle(snapshot.counts.waiting > 0 ? `(${snapshot.counts.waiting}) Home` : "Home");
  }

  function noteOf(shown) {
    if (snapshot.lanes.length === 0) return "";
    const all = plural(snapshot.lanes.length, "lane");
    if (shown < snapshot.lanes.length) return `${shown} of ${all}`;
    return snapshot.moreLanes ? `First ${all}` : all;
  }

  async function read() {
    const found = await readHome({ failedShown, signal: ending.signal });
    if (ending.signal.aborted) return;
    snapshot = found;
    setText(complaint, "");
    draw();
  }

  const refresh = refresher(read, (error) => setText(complaint, `This page may be out of date: ${error.message}`));
  const unlisten = feed.listen(() => refresh.ask());
  filter.addEventListener("input", draw);
  older.addEventListener("click", () => {
    failedShown += FAILED_MORE;
    draw();
    refresh.ask();
  });
  refresh.ask();
  setTitle("Home");

  const filterRow = h("div", { class: "filter", hidden: true }, h("label", { for: "filter" }, "Filter lanes"), filter);
  const element = h("div", { class: "home" },
    h("div", { class: "home-head" }, heading, figures.element),
    complaint,
    waiting.element,
    failed.element,
    h("section", { "aria-labelledby": "lanes-heading" },
      h("div", { class: "section-head" }, h("h2", { id: "lanes-heading" }, "Lanes"), laneNote, filterRow),
      empty,
      lanes,
    ),
  );
  return {
    element,
    focus: () => heading.focus(),
    stop() {
      ending.abort();
      refresh.stop();
      unlisten();
    },
  };
}

/** Return the counts at the top; that of runs that wait for a program only while there are any. */
function figuresOf() {
  const numbers = new Map();
  const rows = COUNTS.map(([name, caption]) => {
    const number = h("dd", {}, "–");
    numbers.set(name, number);
    return h("div", { "data-count": name, hidden: name === "programs" }, h("dt", {}, caption), number);
  });
  return {
    element: h("dl", { class: "figures", "aria-label": "Counts" }, rows),
    update({ counts, moreFailed }) {
      for (const [name, number] of numbers) {
        setText(number, `${counts[name]}${name === "failed" && moreFailed ? "+" : ""}`);
        number.parentElement.toggleAttribute("data-some", counts[name] > 0);
        number.parentElement.hidden = name === "programs" && counts[name] === 0;
      }
    },
  };
}

/** Return a section that is hidden while it is empty. */
function section(title, id) {
  const list = h("ul", { class: "cards" });
  const element = h("section", { "aria-labelledby": id, hidden: true },
    h("div", { class: "section-head" }, h("h2", { id }, title)), list);
  return {
    element,
    update(runs, make) {
      element.hidden = runs.length === 0;
      keyed(list, runs, (run) => run.id, make);
    },
  };
}
