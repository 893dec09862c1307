// Home: every lane of the house, live, and first of all what waits for a person.

import { h, keyed, setText } from "../dom.js";
import { paced } from "../pace.js";
import { plural } from "../words.js";
import { failedCard, waitingCard } from "./attention.js";
import { beginning } from "./beginning.js";
import { laneRow } from "./lane.js";
import { passes, readHome } from "./reading.js";

const COUNTS = [
  ["busy", "busy lanes"],
  ["queued", "queued"],
  ["waiting", "waiting for you"],
  ["failed", "failed"],
];

// Old failures must not push the lanes out of sight; the others are one press away.
const FAILED_AT_FIRST = 4;
const FAILED_MORE = 20;

/** Open Home: `{element, focus, stop}`. */
export function homeView({ feed, setTitle }) {
  const heading = h("h1", { tabindex: -1 }, "Home");
  const figures = figuresOf();
  const waiting = section("Waiting for you", "waiting-list");
  const failed = section("Failed", "failed-list");
  const older = h("button", { type: "button", class: "button quiet", hidden: true }, "Show older ones");
  failed.element.append(older);
  const filter = h("input", { type: "search", class: "field", id: "filter", autocomplete: "off", placeholder: "agent, key, state, words…" });
  const lanes = h("ul", { class: "lanes" });
  const laneNote = h("p", { class: "note", role: "status" }, "Reading the lanes…");
  const complaint = h("p", { class: "complaint", role: "alert" });
  const begin = beginning();
  const ending = new AbortController();
  let failedShown = FAILED_AT_FIRST;
  let reading = null;

  function draw() {
    if (reading === null) return;
    figures.update(reading);
    waiting.update(reading.waiting, waitingCard);
    failed.update(reading.failed.slice(0, failedShown), failedCard);
    older.hidden = !reading.moreFailed && reading.failed.length <= failedShown;
    const shown = filter.value.trim() === "" ? reading.lanes : reading.lanes.filter((lane) => passes(lane, filter.value.trim()));
    keyed(lanes, shown, (lane) => lane.key, laneRow);
    begin.hidden = reading.lanes.length > 0;
    filterRow.hidden = reading.lanes.length === 0;
    setText(laneNote, noteOf(shown.length));
    setTitle(reading.counts.waiting > 0 ? `(${reading.counts.waiting}) Home` : "Home");
  }

  function noteOf(shown) {
    if (reading.lanes.length === 0) return "";
    const all = plural(reading.lanes.length, "lane");
    if (shown < reading.lanes.length) return `${shown} of ${all}`;
    return reading.moreLanes ? `The first ${all}; there are more.` : all;
  }

  async function read() {
    const found = await readHome({ failedShown, signal: ending.signal });
    if (ending.signal.aborted) return;
    reading = found;
    setText(complaint, "");
    draw();
  }

  const pace = paced(read, (error) => setText(complaint, `This page may be old: ${error.message}`));
  const unlisten = feed.listen(() => pace.ask());
  filter.addEventListener("input", draw);
  older.addEventListener("click", () => {
    failedShown += FAILED_MORE;
    draw();
    pace.ask();
  });
  pace.ask();
  setTitle("Home");

  const filterRow = h("div", { class: "filter", hidden: true }, h("label", { for: "filter" }, "Filter lanes"), filter);
  const element = h("div", { class: "home" },
    h("div", { class: "home-head" }, heading, figures.element),
    complaint,
    waiting.element,
    failed.element,
    h("section", { "aria-labelledby": "lanes-heading" },
      h("div", { class: "section-head" }, h("h2", { id: "lanes-heading" }, "Lanes"), laneNote, filterRow),
      begin,
      lanes,
    ),
  );
  return {
    element,
    focus: () => heading.focus(),
    stop() {
      ending.abort();
      pace.stop();
      unlisten();
    },
  };
}

/** The four counts at the top. */
function figuresOf() {
  const numbers = new Map();
  const rows = COUNTS.map(([name, caption]) => {
    const number = h("dd", {}, "–");
    numbers.set(name, number);
    return h("div", { "data-count": name }, h("dt", {}, caption), number);
  });
  return {
    element: h("dl", { class: "figures", "aria-label": "Counts" }, rows),
    update({ counts, moreFailed }) {
      for (const [name, number] of numbers) {
        setText(number, `${counts[name]}${name === "failed" && moreFailed ? "+" : ""}`);
        number.parentElement.toggleAttribute("data-some", counts[name] > 0);
      }
    },
  };
}

/** A section that is there only while it has something to show. */
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
