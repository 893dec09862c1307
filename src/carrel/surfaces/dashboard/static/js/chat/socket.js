// Live text of replies: one WebSocket bound to the open lane, reconnecting with back-off.

import { instanceId } from "../instance.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Follow a lane's frames. `received(frame)` gets frames of this lane only, whatever else the connection carries;
 * `changed(on)` is called when live text becomes available or not.
 */
export function chatSocket({ key, received, changed }) {
  let socket = null;
  let attempts = 0;
  let timer = 0;
  let stopped = false;
  // The server's id of the lane, from its answer to `bind`; until then no frame can be ours.
  let boundId = null;

  function open() {
    const address = new URL("/ws/chat", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    boundId = null;
    socket = new WebSocket(address);
    socket.onopen = () => socket.send(JSON.stringify({ type: "bind", sessionId: key, clientInstanceId: instanceId() }));
    socket.onmessage = (message) => read(JSON.parse(message.data));
    socket.onclose = closed;
  }

  function read(frame) {
    if (stopped) return;
    if (frame.type === "system_event" && frame.payload?.bound === true) {
      boundId = frame.sessionId;
      attempts = 0;
      changed(true);
    } else if (boundId !== null && frame.sessionId === boundId) received(frame);
  }

  function closed() {
    if (stopped) return;
    changed(false);
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts) * (0.75 + Math.random() / 2);
    attempts += 1;
    timer = setTimeout(open, pause);
  }

  open();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      socket.onclose = null;
      socket.onmessage = null;
      if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
      else socket.close();
    },
  };
}
