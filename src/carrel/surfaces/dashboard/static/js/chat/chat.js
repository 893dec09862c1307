// Chat: one lane at a time with its live transcript, and the recent chats beside it.

import { chatHref, get, post, runPath, url } from "../api.js";
import { actionButton } from "../action.js";
import { h, setAttribute, setChildren, setText } from "../dom.js";
import { instanceId } from "../instance.js";
import { refresher } from "../refresh.js";
import { laneName, laneState, laneTitle, splitKey } from "../format.js";
import { composer } from "./composer.js";
import { ChatLane } from "./lane.js";
import { rail } from "./rail.js";
import { chatSocket } from "./socket.js";
import { transcript } from "./transcript.js";

// The question is still open; with any other refusal it is not.
const UNCLEAR = 400;

/** Open Chat on a lane, or on this browser's active one when `key` is null: `{element, focus, stop}`. */
export function chatView({ feed, go, setTitle }, key) {
  const heading = h("h1", { tabindex: -1 }, "Chat");
  const container = h("section", { class: "pane", "aria-label": "Open chat" });
  const side = rail({ feed, go });
  const ending = new AbortController();
  let pane = null;
  setTitle("Chat");

  function open(laneKey, { isNew = false } = {}) {
    side.setCurrent(laneKey);
    pane = lanePane({ feed, go, setTitle, key: laneKey, isNew });
    setChildren(container, pane.element);
    focusPane();
  }

  // On a touch screen, focus would open the keyboard over the transcript.
  function focusPane() {
    if (matchMedia("(pointer: fine)").matches) pane.focus();
    else heading.focus();
  }

  async function openActive() {
    try {
      const mine = { channelType: "web", clientInstanceId: instanceId() };
      const [active, recent] = await Promise.all([
        get(url("/api/sessions/active", mine), { signal: ending.signal }),
        get(url("/api/sessions/recent", mine), { signal: ending.signal }),
      ]);
      // For a browser without a chat, the server returns a key whose lane is created by the first message.
      const isNew = active.source === "default" && !recent.sessions.some((row) => (row.sessionKey ?? row.key) === active.sessionKey);
      if (!ending.signal.aborted) open(active.sessionKey, { isNew });
    } catch (error) {
      if (!ending.signal.aborted) setChildren(container, h("p", { class: "complaint", role: "alert" }, error.message));
    }
  }

  if (key === null) openActive();
  else open(key);

  return {
    element: h("div", { class: "chat" }, h("div", { class: "chat-head" }, heading), side.element, container),
    focus() {
      if (pane === null) heading.focus();
      else focusPane();
    },
    stop() {
      ending.abort();
      side.stop();
      pane?.stop();
    },
  };
}

/** Return the open lane: header, transcript and message field. It receives frames of its own lane only. */
function lanePane({ feed, go, setTitle, key, isNew }) {
  const lane = new ChatLane(key, { isNew });
  const ending = new AbortController();
  const title = h("h2", { title: key }, laneName(key));
  const facts = h("p", { class: "pane-facts" });
  const empty = h("p", { class: "pane-empty", hidden: true }, "No messages yet.");
  const complaint = h("p", { class: "complaint", role: "alert" });
  const slow = h("p", { class: "note slow", role: "status" });
  const script = transcript({ agent: splitKey(key).agent || "Agent", resend: send, discard });
  const older = actionButton({ label: "Show older messages", busy: "Loading…", kind: "quiet", act: () => lane.readOlder().then(draw) });
  const write = composer({ key, send: (text, answers) => send(lane.write(text, answers)), decide });
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
    write.setAsking(lane.asking);
    older.button.hidden = lane.olderCursor === null;
    empty.hidden = !drawn || items.length > 0;
    setText(title, lane.row === null ? laneName(key) : laneTitle(lane.row));
    setTitle(`${title.textContent} · Chat`);
    setText(facts, factsOf(lane));
    setAttribute(facts, "data-state", lane.row === null ? null : laneState(lane.row));
  }

  // Text may arrive faster than the screen is drawn.
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
    if (answer === null) takeBack(line);
    if (!remembered && answer?.runId) remembered = remember(key);
    draw();
    refresh.ask();
    if (answer?.sessionKey && answer.sessionKey !== key) go(chatHref(answer.sessionKey));
  }

  // A text that the server did not take as an answer goes back into the field; without its word, it may have been taken.
  function takeBack(line) {
    if (line.answers === null || line.status < 400 || line.status >= 500) return;
    if (line.status !== UNCLEAR) {
      lane.answered(line.answers);
      line.answers = null;
    }
    draw();
    if (write.takeBack(line)) lane.discard(line);
  }

  async function decide(run, decision) {
    await post(runPath(run.id, "/answer"), decision);
    lane.answered(run.id);
    draw();
    refresh.ask();
  }

  function discard(line) {
    lane.discard(line);
    draw();
  }

  const refresh = refresher(read, (error) => setText(complaint, `This chat may be out of date: ${error.message}`));
  const unlisten = feed.listen(({ reread, event }) => {
    if (reread ? !lane.isNew : event.sessionKey === key) refresh.ask();
  });
  const socket = chatSocket({
    key,
    received(received) {
      const change = lane.receive(received);
      if (change) drawSoon();
      if (change === "read") refresh.ask();
    },
    changed: (on) => setText(slow, on ? "" : "Live text is not available right now; replies appear when they are complete."),
  });
  draw();
  if (!isNew) {
    remembered = remember(key);
    refresh.ask();
  }

  return {
    element: h("div", { class: "pane-inner" },
      h("div", { class: "pane-head" }, title, facts), complaint, empty, script.element, slow, write.element),
    focus: () => write.field.focus(),
    stop() {
      ending.abort();
      cancelAnimationFrame(frame);
      refresh.stop();
      unlisten();
      socket.stop();
      script.stop();
    },
  };
}

/** Remember a web chat as the one this browser returns to; other lanes belong to other channels. */
function remember(key) {
  if (splitKey(key).rest.startsWith("web:")) {
    // If this fails nothing is lost: the chat is still among the recent ones.
    post("/api/sessions/active", { channelType: "web", clientInstanceId: instanceId(), sessionId: key }).catch(() => {});
  }
  return true;
}

function factsOf(lane) {
  if (lane.isNew) return "New chat; it opens with your first message.";
  if (lane.row === null) return "";
  const { agentSlug, agentId, generation, queuedRuns } = lane.row;
  const waiting = queuedRuns > 0 ? `${queuedRuns} queued` : "";
  return [agentSlug ?? agentId, laneState(lane.row), generation > 0 ? `generation ${generation}` : "not opened yet", waiting].filter(Boolean).join(" · ");
}
