// What needs attention: runs that wait for an answer, and runs that failed.

import { age } from "../ages.js";
import { answerForm, question } from "../answer.js";
import { chatHref, post, runPath } from "../api.js";
import { actionButton } from "../action.js";
import { h, setText } from "../dom.js";
import { firstLine, splitKey, waitsFor, whyEnded } from "../format.js";

/** Return the card of a waiting run, for `keyed`. */
export function waitingCard(run) {
  const since = age("waiting ");
  const element = h("li", { class: "card waiting" },
    h("p", { class: "card-head" }, laneLink(run), h("span", {}, waitsFor(run)), since.element),
    h("div", { class: "question" }, question(run)),
    h("p", { class: "about" }, "Message: ", firstLine(run.message?.text)),
    answerForm(run),
  );
  return { element, update: (now) => since.set(now.startedAt ?? now.createdAt), gone: since.drop };
}

/** Return the card of a failed run, for `keyed`. */
export function failedCard(run) {
  const when = age("", " ago");
  const why = h("p", { class: "why" });
  const followed = h("p", { class: "note", role: "status" });
  const retry = actionButton({
    label: "Retry", busy: "Retrying…", done: "Retry again", kind: "quiet", name: `Retry: ${firstLine(run.message?.text, 60)}`,
    act: async () => {
      await post(runPath(run.id, "/retry"));
      setText(followed, "Queued again.");
    },
  });
  const element = h("li", { class: "card failed" },
    h("p", { class: "card-head" }, laneLink(run), when.element),
    h("p", { class: "about" }, firstLine(run.message?.text) || "(no text)"),
    why,
    h("div", { class: "buttons" }, retry.button, followed),
    retry.complaint,
  );
  return {
    element,
    update(now) {
      setText(why, `Failed after ${now.attempt === 1 ? "one attempt" : `${now.attempt ?? "some"} attempts`}: ${whyEnded(now)}`);
      when.set(now.endedAt ?? now.createdAt);
    },
    gone: when.drop,
  };
}

function laneLink(run) {
  return h("a", { href: chatHref(run.sessionKey), title: run.sessionKey },
    h("span", { class: "agent" }, run.agentId ?? splitKey(run.sessionKey).agent), run.laneTitle);
}
