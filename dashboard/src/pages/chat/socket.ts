// Live text of replies: one WebSocket bound to the open session, reconnecting with back-off.

import { instanceId } from "./instance";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export type Frame = { type: string; sessionId?: string; runId?: string; text?: string; command?: boolean; eventType?: string; payload?: { bound?: boolean } };

/**
 * Follow a session's frames. `received` gets frames of this session only, whatever else the connection carries;
 * `changed` is called when live text becomes available or not. Returns how to stop.
 */
export function chatSocket(key: string, received: (frame: Frame) => void, changed: (on: boolean) => void): () => void {
  let socket: WebSocket;
  let attempts = 0;
  let timer = 0;
  let stopped = false;
  // The server's id of the session, from its answer to `bind`; until then no frame can be ours.
  let boundId: string | null = null;

  function open(): void {
    const address = new URL("/ws/chat", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    boundId = null;
    socket = new WebSocket(address);
    socket.onopen = () => socket.send(JSON.stringify({ type: "bind", sessionId: key, clientInstanceId: instanceId() }));
    socket.onmessage = (message) => read(JSON.parse(message.data));
    socket.onclose = closed;
  }

  function read(frame: Frame): void {
    if (stopped) return;
    if (frame.type === "system_event" && frame.payload?.bound === true) {
      boundId = frame.sessionId ?? null;
      attempts = 0;
      changed(true);
    } else if (boundId !== null && frame.sessionId === boundId) received(frame);
  }

  function closed(): void {
    if (stopped) return;
    changed(false);
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts) * (0.75 + Math.random() / 2);
    attempts += 1;
    timer = window.setTimeout(open, pause);
  }

  open();
  return () => {
    stopped = true;
    clearTimeout(timer);
    socket.onclose = null;
    socket.onmessage = null;
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
  };
}
