// Chat: one lane at a time, its transcript live, with the recent ones beside it.

import { chatHref, get, post, url } from "../api.js";
import { doing } from "../doing.js";
import { h, setAttribute, setChildren, setText } from "../dom.js";
import { instanceId } from "../instance.js";
import { paced } from "../pace.js";
import { laneName, laneTitle, splitKey } from "../words.js";
import { composer } from "./composer.js";
import { ChatLane } from "./lane.js";
import { rail } from "./rail.js";
import { chatSocket } from "./socket.js";
import { transcript } from "./transcript.js";

/** Open Chat on a lane, or on this browser's active one when `key` is null: `{element, focus, stop}`. */
export function chatView({ feed, go, setTitle }, key) {
  const heading = h("h1", { tabindex: -1 }, "Chat");
  const place = h("section", { class: "desk", "aria-label": "Open chat" });
  const side = rail({ feed, go });
  const ending = new AbortController();
  let desk = null;
  setTitle("Chat");

  function open(laneKey, { isNew = false } = {}) {
    side.setCurrent(laneKey);
    desk = laneDesk({ feed, go, setTitle, key: laneKey, isNew });
    setChildren(place, desk.element);
    focusDesk();
  }

  // On a touch screen focus would raise the keyboard over the transcript.
  function focusDesk() {
    if (matchMedia("(pointer: fine)").matches) desk.focus();
    else heading.focus();
  }

  async function openActive() {
    try {
      const mine = { channelType: "web", clientInstanceId: instanceId() };
      const [active, recent] = await Promise.all([
        get(url("/api/sessions/active", mine), { signal: ending.signal }),
        get(url("/api/sessions/recent", mine), { signal: ending.signal }),
      ]);
      // Where this browser had no chat yet the server names a key that comes into being with its first line.
      const isNew = active.source === "default" && !recent.sessions.some((row) => (row.sessionKey ?? row.key) === active.sessionKey);
      if (!ending.signal.aborted) open(active.sessionKey, { isNew });
    } catch (error) {
      if (!ending.signal.aborted) setChildren(place, h("p", { class: "complaint", role: "alert" }, error.message));
    }
  }

  if (key === null) openActive();
  else open(key);

  return {
    element: h("div", { class: "chat" }, h("div", { class: "chat-head" }, heading), side.element, place),
    focus() {
      if (desk === null) heading.focus();
      else focusDesk();
    },
    stop() {
      ending.abort();
      side.stop();
      desk?.stop();
    },
  };
}

/** The open lane: header, transcript and the line to write in. It ends with its view, and hears only its own lane. */
function laneDesk({ feed, go, setTitle, key, isNew }) {
  const lane = new ChatLane(key, { isNew });
  const ending = new AbortController();
  const title = h("h2", { title: key }, laneName(key));
  const facts = h("p", { class: "desk-facts" });
  const empty = h("p", { class: "desk-empty", hidden: true }, "Nothing has been said here yet.");
  const complaint = h("p", { class: "complaint", role: "alert" });
  const slow = h("p", { class: "note slow", role: "status" });
  const script = transcript({ agent: splitKey(key).agent || "Agent", resend: send, discard });
  const older = doing({ label: "Show older messages", busy: "Reading…", kind: "quiet", act: () => lane.readOlder().then(draw) });
  const write = composer({ key, send: (text) => send(lane.write(text)) });
  let drawn = isNew;
  let remembered = false;
  let frame = 0;
  older.button.hidden = true;
  script.log.prepend(h("div", { class: "older" }, older.nodes));

  function draw() {
    if (ending.signal.aborted) return;
    const items = lane.items;
    script.update(items);
    write.setOccupied(lane.occupied);
    older.button.hidden = lane.olderCursor === null;
    empty.hidden = !drawn || items.length > 0;
    setText(title, lane.row === null ? laneName(key) : laneTitle(lane.row));
    setTitle(`${title.textContent} · Chat`);
    setText(facts, factsOf(lane));
    setAttribute(facts, "data-state", lane.row?.state ?? null);
  }

  // Words may come faster than the screen is drawn.
  function drawSoon() {
    if (frame === 0) frame = requestAnimationFrame(() => { frame = 0; draw(); });
  }

  async function read() {
    await lane.read(ending.signal);
    if (ending.signal.aborted) return;
    drawn = true;
    setText(complaint, "");
    draw();
  }

  async function send(line) {
    draw();
    script.toEnd();
    const sending = lane.send(line);
    draw();
    const answer = await sending;
    if (ending.signal.aborted) return;
    if (!remembered && answer?.runId) remembered = remember(key);
    draw();
    pace.ask();
    if (answer?.sessionKey && answer.sessionKey !== key) go(chatHref(answer.sessionKey));
  }

  function discard(line) {
    lane.discard(line);
    draw();
  }

  const pace = paced(read, (error) => setText(complaint, `This chat may be old: ${error.message}`));
  const unlisten = feed.listen(({ reread, event }) => {
    if (reread ? !lane.isNew : event.sessionKey === key) pace.ask();
  });
  const socket = chatSocket({
    key,
    heard(heardFrame) {
      const change = lane.hear(heardFrame);
      if (change) drawSoon();
      if (change === "read") pace.ask();
    },
    changed: (on) => setText(slow, on ? "" : "Words do not arrive live just now; an answer appears when it is complete."),
  });
  draw();
  if (!isNew) {
    remembered = remember(key);
    pace.ask();
  }

  return {
    element: h("div", { class: "desk-inner" },
      h("div", { class: "desk-head" }, title, facts), complaint, empty, script.element, slow, write.element),
    focus: () => write.field.focus(),
    stop() {
      ending.abort();
      cancelAnimationFrame(frame);
      pace.stop();
      unlisten();
      socket.stop();
      script.stop();
    },
  };
}

/** Make an opened web chat the one this browser comes back to; other lanes belong to other channels. */
function remember(key) {
  if (splitKey(key).rest.startsWith("web:")) {
    // Nothing is lost when the server does not take it: the recent ones still list the chat.
    post("/api/sessions/active", { channelType: "web", clientInstanceId: instanceId(), sessionId: key }).catch(() => {});
  }
  return true;
}

function factsOf(lane) {
  if (lane.isNew) return "A new chat: it opens with your first line.";
  if (lane.row === null) return "";
  const { agentSlug, agentId, state, generation, queuedRuns } = lane.row;
  const waiting = queuedRuns > 0 ? `${queuedRuns} queued` : "";
  const asking = state === "idle" && [...lane.runs.values()].some((run) => run.state === "waiting");
  return [agentSlug ?? agentId, asking ? "waiting" : state, generation > 0 ? `generation ${generation}` : "not yet opened", waiting].filter(Boolean).join(" · ");
}
