// The notification bell: the number of unread notifications, and a panel that lists them, live.

import { age } from "./ages.js";
import { chatHref, get, post, taskHref, url } from "./api.js";
import { actionButton } from "./action.js";
import { h, keyed, setAttribute, setText, svg } from "./dom.js";
import { refresher } from "./refresh.js";
import { laneName } from "./format.js";

const PATH = "/api/notifications";
const SHOWN_FIRST = 20;
// The server's limit per request.
const MOST = 200;
const COUNTED_MOST = 99;

/** Return `{button, panel, close, stop}` for the shell; the panel is placed in the nearest positioned element. */
export function bell({ feed }) {
  const count = h("span", { class: "bell-count", "aria-hidden": "true", hidden: true });
  const button = h("button", { type: "button", class: "bell", "aria-expanded": "false", "aria-controls": "notifications", on: { click: flip } }, sign(), count);
  const list = h("ul", { class: "notices" });
  const note = h("p", { class: "note" }, "Loading…");
  const complaint = h("p", { class: "complaint", role: "alert" });
  const older = h("button", { type: "button", class: "button quiet", hidden: true, on: { click: showOlder } }, "Show older");
  const readAll = actionButton({ label: "Mark all read", busy: "Marking…", kind: "plain", act: () => post(`${PATH}/read-all`) });
  const panel = h("section", { class: "bell-panel", id: "notifications", "aria-label": "Notifications", hidden: true },
    h("div", { class: "bell-head" }, h("h2", {}, "Notifications"), readAll.button),
    readAll.complaint, complaint, note, list, older);
  const ending = new AbortController();
  let shown = SHOWN_FIRST;

  function flip() {
    if (panel.hidden) open();
    else close();
  }

  function open() {
    panel.hidden = false;
    setAttribute(button, "aria-expanded", "true");
    refresh.ask();
  }

  function close() {
    panel.hidden = true;
    shown = SHOWN_FIRST;
    setAttribute(button, "aria-expanded", "false");
  }

  function showOlder() {
    shown = MOST;
    refresh.ask();
  }

  async function read() {
    const { notifications, unreadCount, nextCursor } = await get(url(PATH, { limit: shown }), { signal: ending.signal });
    setText(complaint, "");
    setText(count, unreadCount > COUNTED_MOST ? `${COUNTED_MOST}+` : String(unreadCount));
    count.hidden = unreadCount === 0;
    setAttribute(button, "aria-label", `Notifications, ${unreadCount === 0 ? "none" : unreadCount} unread`);
    keyed(list, notifications, (notice) => notice.id, noticeRow);
    readAll.button.hidden = unreadCount === 0;
    older.hidden = nextCursor === null || shown === MOST;
    setText(note, noteOf(notifications, unreadCount, nextCursor));
  }

  function noteOf(notifications, unreadCount, nextCursor) {
    if (notifications.length === 0) return "No notifications yet.";
    if (nextCursor !== null && shown === MOST) return `The newest ${MOST}.`;
    return unreadCount === 0 ? "All read." : `${unreadCount} unread`;
  }

  /** One row; opening it marks it as read and leads to its lane, else to its task. */
  function noticeRow(notice) {
    const when = age("", " ago");
    const unread = h("span", { class: "sr" });
    const title = h("a", { href: hrefOf(notice), on: { click: () => opened(notice) } }, unread, notice.title);
    const element = h("li", { class: "notice", "data-type": notice.type },
      h("p", { class: "notice-title" }, title),
      h("p", { class: "notice-body" }, notice.body),
      h("p", { class: "notice-about" }, h("span", {}, notice.sessionKey === null ? "Task" : laneName(notice.sessionKey)), when.element));
    when.set(notice.createdAt);
    return {
      element,
      update({ readAt }) {
        element.toggleAttribute("data-unread", readAt === null);
        setText(unread, readAt === null ? "Unread: " : "");
      },
      gone: when.drop,
    };
  }

  function opened(notice) {
    close();
    // The stream reports the change; if the request fails, the notification stays unread, which is still true.
    post(`${PATH}/${encodeURIComponent(notice.id)}/read`).catch(() => {});
  }

  const refresh = refresher(read, (error) => setText(complaint, `This list may be out of date: ${error.message}`));
  const unlisten = feed.listen(({ reread, event }) => {
    if (reread || event.name.startsWith("notification.")) refresh.ask();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    close();
    button.focus();
  }, { signal: ending.signal });
  document.addEventListener("pointerdown", (event) => {
    if (!panel.contains(event.target) && !button.contains(event.target)) close();
  }, { signal: ending.signal });
  setAttribute(button, "aria-label", "Notifications");

  return {
    button,
    panel,
    close,
    stop() {
      ending.abort();
      refresh.stop();
      unlisten();
    },
  };
}

function hrefOf({ sessionKey, taskId }) {
  return sessionKey !== null ? chatHref(sessionKey) : taskId !== null ? taskHref(taskId) : "/";
}

function sign() {
  return svg("svg", { viewBox: "0 0 24 24", class: "bell-sign", "aria-hidden": "true" },
    svg("path", { d: "M6 17h12M7.5 17v-6a4.5 4.5 0 0 1 9 0v6M12 4v2.5M10.5 20h3" }));
}
