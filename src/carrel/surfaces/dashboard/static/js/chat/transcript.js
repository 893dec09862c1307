// The transcript: one row per item, kept as long as the item exists.

import { age } from "../ages.js";
import { answerForm, cancelOnly, question } from "../answer.js";
import { post, runPath } from "../api.js";
import { actionButton } from "../action.js";
import { h, keyed, setAttribute, setText } from "../dom.js";
import { growing, markdown } from "../markdown/view.js";
import { prose } from "../prose.js";
import { openReceipt } from "../receipt.js";
import { faultOf, sourceOf, firstLine, isNoReply, targetOf, waitsFor, whyEnded } from "../format.js";
import { textOf } from "./items.js";
import { toolRow } from "./tool.js";

const NEAR_THE_END_PX = 120;

/** Return `{element, update(items)}`; `agent` is the speaker's name, `resend` and `discard` act on refused messages. */
export function transcript({ agent, resend, discard }) {
  const list = h("div", { class: "transcript-list" });
  const log = h("div", { class: "transcript", role: "log", "aria-label": "Transcript", tabindex: 0 }, list);
  const below = h("button", { type: "button", class: "button quiet below", hidden: true, on: { click: toEnd } }, "New text below");
  const makers = { said: saidRow, tool: toolRow, aside: asideRow, ended: endedRow, asks: asksRow, speaking: speakingRow, queued: queuedRow, unsent: (item) => unsentRow(item, { resend, discard }) };

  function toEnd() {
    following = true;
    log.scrollTop = log.scrollHeight;
    below.hidden = true;
  }

  // Follow the end until the user scrolls away from it; then the view must not move.
  let following = true;
  log.addEventListener("scroll", () => {
    following = atEnd();
    if (following) below.hidden = true;
  });
  const resizing = new ResizeObserver(() => {
    if (following) toEnd();
  });
  resizing.observe(log);

  const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END_PX;

  let before = "";
  return {
    element: h("div", { class: "transcript-frame" }, log, below),
    log,
    toEnd,
    stop: () => resizing.disconnect(),
    update(items) {
      keyed(list, items, (item) => item.key, (item) => makers[item.kind](item, agent));
      const now = items.map((item) => `${item.key}/${item.text?.length ?? 0}`).join();
      if (following) toEnd();
      else if (now !== before) below.hidden = false;
      before = now;
    },
  };
}

/** Return a row with the speaker in the margin. */
function row(kind, speaker, ...content) {
  return h("article", { class: `row ${kind}`, "aria-label": speaker }, h("p", { class: "speaker", "aria-hidden": "true" }, speaker), h("div", { class: "words" }, content));
}

const still = (element) => ({ element, update() {} });

function saidRow({ message, asked }, agent) {
  const mine = message.role === "user";
  const reported = message.provenance?.kind === "reported";
  const source = mine || reported ? sourceOf(message.provenance) : message.role === "assistant" ? targetOf(asked) : "";
  const speaker = reported ? "Reported" : mine ? (source ? "Received" : "You") : message.role === "system" ? "System" : agent;
  const when = age("", " ago");
  when.set(message.timestamp);
  const foot = h("p", { class: "foot" }, source ? h("span", {}, source) : null, when.element);
  const text = textOf(message);
  const silent = message.role === "assistant" && isNoReply(text);
  const element = row(`said ${message.role}`, speaker, silent ? h("p", { class: "note" }, "The agent chose not to reply.") : message.role === "assistant" ? markdown(text) : prose(text), foot);
  let linked = null;
  return {
    element,
    update({ receipt }) {
      if (receipt === linked) return;
      linked = receipt;
      foot.querySelector(".receipt-link")?.remove();
      if (receipt !== null) foot.append(receiptButton(receipt));
    },
    gone: when.drop,
  };
}

function receiptButton(runId) {
  return h("button", { type: "button", class: "button plain receipt-link", on: { click: (event) => openReceipt(runId, event.currentTarget) } }, "What the agent saw");
}

function asideRow({ text, reply }) {
  return still(row("aside", "Command", h("p", { class: "command" }, text), prose(reply)));
}

function endedRow({ run, withMessage }) {
  const why = h("p", { class: "why" });
  const followed = h("span", { class: "note", role: "status" });
  const retry = actionButton({
    label: "Retry", busy: "Retrying…", done: "Retry again", kind: "quiet",
    act: async () => {
      await post(runPath(run.id, "/retry"));
      setText(followed, "Queued again.");
    },
  });
  const failed = run.state === "failed";
  const element = row(`ended ${run.state}`, failed ? "Failed" : "Cancelled",
    withMessage ? h("p", { class: "prose original" }, run.message?.text ?? "") : null,
    why,
    failed ? h("div", { class: "buttons" }, retry.button, withMessage ? null : receiptButton(run.id), followed) : null,
    failed ? retry.complaint : null);
  return { element, update: (item) => setText(why, `${failed ? "The run failed" : "The run was cancelled"}: ${whyEnded(item.run)}`) };
}

function asksRow({ run, isShown, withMessage, byMessage }) {
  return still(row("asks", "Waiting",
    withMessage ? h("p", { class: "prose original" }, run.message?.text ?? "") : null,
    h("p", { class: "why" }, `The agent ${waitsFor(run)}.`),
    isShown ? null : h("div", { class: "question" }, question(run)),
    byMessage ? cancelOnly(run) : answerForm(run)));
}

function speakingRow(first, agent) {
  const words = h("div", { class: "live-words" });
  const show = growing(words);
  const since = age("", "");
  const working = h("p", { class: "working" }, h("span", { class: "pulse", "aria-hidden": "true" }), h("span", {}, "working "), since.element);
  const fault = h("p", { class: "fault", role: "status" });
  const element = row("speaking", agent, words, fault, working);
  const pair = h("div", { class: "speaking-pair" }, element);
  let mine = null;
  return {
    element: pair,
    update(item) {
      setAttribute(element, "aria-busy", String(item.working));
      show(item.text);
      working.hidden = !item.working;
      setText(fault, item.working ? faultOf(item.run) : "");
      since.set(item.run?.startedAt ?? null);
      if (item.unspoken !== "" && mine === null) {
        mine = row("said user", sourceOf(item.run?.provenance) ? "Received" : "You", prose(item.unspoken));
        pair.prepend(mine);
      } else if (item.unspoken === "" && mine !== null) {
        mine.remove();
        mine = null;
      }
    },
    gone: since.drop,
  };
}

function queuedRow({ run, inTranscript }) {
  const position = h("span", { class: "queue-position" });
  const cancel = actionButton({
    label: "Cancel", busy: "Cancelling…", done: "Cancelling…", kind: "plain", name: `Cancel: ${firstLine(run.message?.text, 60)}`,
    act: () => post(runPath(run.id, "/cancel")),
  });
  const source = sourceOf(run.provenance);
  const fault = h("p", { class: "fault", role: "status" });
  const element = row("queued", inTranscript || source ? "Queued" : "You", inTranscript ? null : prose(run.message?.text), fault,
    h("p", { class: "foot" }, position, source ? h("span", {}, source) : null, cancel.button), cancel.complaint);
  return {
    element,
    update(item) {
      const { nextAttemptAt, queuePosition: number } = item.run;
      setText(fault, faultOf(item.run));
      setText(position, nextAttemptAt ? "Waiting to retry" : number === 1 ? "Waiting, next in line" : `Waiting, number ${number ?? "?"} in line`);
    },
  };
}

function unsentRow({ line }, { resend, discard }) {
  const state = h("span", { class: "send-state", role: "status" });
  const again = h("button", { type: "button", class: "button quiet", on: { click: () => resend(line) } }, "Send again");
  const drop = h("button", { type: "button", class: "button plain", on: { click: () => discard(line) } }, "Discard");
  const element = row("unsent", "You", prose(line.text), h("p", { class: "foot" }, state, again, drop));
  return {
    element,
    update({ line: now }) {
      setAttribute(element, "data-state", now.state);
      setText(state, now.state === "refused" ? `Not sent: ${now.error}` : now.state === "accepted" ? "Accepted" : "Sending…");
      again.hidden = now.state !== "refused";
      drop.hidden = now.state !== "refused";
    },
  };
}
