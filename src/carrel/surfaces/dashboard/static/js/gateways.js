// A banner while a gateway does not answer: which one, since when, and what to do.

import { age } from "./ages.js";
import { get } from "./api.js";
import { h, setText } from "./dom.js";
import { refresher } from "./refresh.js";

// Events after which a gateway may have gone or come back.
const TELLING = new Set(["run.retrying", "run.failed", "run.completed"]);
const AGAIN_MS = 30_000;

/** Return `{element, stop}`. */
export function gatewayBanner({ feed }) {
  const words = h("span", {});
  const since = age("Down for ", ".");
  const element = h("p", { class: "banner", role: "status", "aria-label": "Gateways", hidden: true }, words, " ", since.element);
  const refresh = refresher(async () => {
    const { gateways } = await get("/api/health");
    const down = gateways.find((one) => one.status !== "ok");
    element.hidden = down === undefined;
    setText(words, down?.lastError ?? "");
    // One that is not configured was never up.
    since.set(down?.kind ? down.since : null);
  }, () => {});
  const unlisten = feed.listen(({ reread, event }) => {
    if (reread || TELLING.has(event?.name)) refresh.ask();
  });
  // Nothing tells that a gateway is back when no run needs it.
  const timer = setInterval(() => {
    if (!element.hidden) refresh.ask();
  }, AGAIN_MS);
  return {
    element,
    stop() {
      clearInterval(timer);
      unlisten();
      refresh.stop();
      since.drop();
    },
  };
}
