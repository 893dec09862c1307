// Ages that stay current: one timer updates every age on the page.

import { h, setText } from "./dom.js";
import { instant, span } from "./format.js";

const EVERY_MS = 1_000;
const JUST_NOW_MS = 5_000;
const AGO = " ago";
const shown = new Set();

/** Return `{element, set(value), drop()}` for a <time> that shows how long ago `value` was. */
export function age(prefix = "", suffix = "") {
  const element = h("time");
  const entry = { element, at: null, prefix, suffix };
  shown.add(entry);
  return {
    element,
    set(value) {
      entry.at = instant(value);
      draw(entry);
    },
    drop() {
      shown.delete(entry);
    },
  };
}

function draw({ element, at, prefix, suffix }) {
  element.hidden = at === null;
  if (at === null) return;
  const iso = new Date(at).toISOString();
  if (element.dateTime !== iso) {
    element.dateTime = iso;
    element.title = new Date(at).toLocaleString();
  }
  const passed = Date.now() - at;
  setText(element, suffix === AGO && passed < JUST_NOW_MS ? `${prefix}just now` : `${prefix}${span(passed)}${suffix}`);
}

setInterval(() => {
  if (document.visibilityState === "hidden") return;
  for (const entry of shown) draw(entry);
}, EVERY_MS);
