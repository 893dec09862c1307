// The logo: a desk walled on three sides, a lamp and an open book.

import { h, svg } from "./dom.js";

export function brand(size = "") {
  const mark = svg("svg", { viewBox: "0 0 24 24", class: "mark", "aria-hidden": "true" },
    svg("path", { d: "M3.5 20.5v-17h17v17", class: "mark-wall" }),
    svg("path", { d: "M12 18.5c-1.6-1.5-3.3-1.8-5-1.6v-4.6c1.7-.2 3.4.1 5 1.6 1.6-1.5 3.3-1.8 5-1.6v4.6c-1.7-.2-3.4.1-5 1.6zM12 14v4.5", class: "mark-book" }),
    svg("path", { d: "M10 7.5h4", class: "mark-lamp" }),
  );
  return h("span", { class: `brand ${size}` }, mark, h("span", { class: "brand-name" }, "Carrel"));
}
