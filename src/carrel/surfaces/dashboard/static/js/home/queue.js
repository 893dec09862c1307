// The queue of a lane as a small chart: the running run, then one block for each queued run.

import { h, setAttribute, setChildren } from "../dom.js";

const MOST_DRAWN = 12;

/** Return `{element, update(lane)}`. */
export function queuePicture() {
  const element = h("span", { class: "queue", role: "img" });
  let drawn = "";
  return {
    element,
    update({ state, queued }) {
      const now = `${state}/${queued}`;
      if (now === drawn) return;
      drawn = now;
      setAttribute(element, "aria-label", describe(state, queued));
      setAttribute(element, "data-empty", queued === 0 && state !== "busy" && state !== "waiting");
      setChildren(element, blocks(state, queued));
    },
  };
}

function describe(state, queued) {
  const head = state === "busy" ? "1 running" : state === "waiting" ? "1 waiting for an answer" : "nothing running";
  return queued > 0 ? `${head}, ${queued} queued` : state === "busy" || state === "waiting" ? head : "empty queue";
}

function blocks(state, queued) {
  const head = state === "busy" ? "running" : state === "waiting" ? "asking" : "free";
  const nodes = [h("span", { class: `block ${head}` })];
  for (let i = 0; i < Math.min(queued, MOST_DRAWN); i += 1) nodes.push(h("span", { class: "block queued" }));
  if (queued > MOST_DRAWN) nodes.push(h("span", { class: "queue-more" }, `+${queued - MOST_DRAWN}`));
  return nodes;
}
