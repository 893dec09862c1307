// This browser's recent chats, and a button for a new one.

import { chatHref, get, post, url } from "../api.js";
import { actionButton } from "../action.js";
import { h, keyed, setAttribute, setText } from "../dom.js";
import { instanceId } from "../instance.js";
import { refresher } from "../refresh.js";
import { laneState, laneTitle } from "../format.js";

const RECENT_MOST = 20;

/** Return `{element, setCurrent(key), stop}`; `go(href)` opens a chat. */
export function rail({ feed, go }) {
  const list = h("ul", { class: "rail-list", id: "rail-list" });
  const note = h("p", { class: "note" });
  const agents = h("select", { class: "field", id: "new-agent" });
  const agentRow = h("div", { class: "rail-agent", hidden: true }, h("label", { for: "new-agent" }, "Agent"), agents);
  const toggle = h("button", { type: "button", class: "button quiet rail-toggle", "aria-expanded": "false", "aria-controls": "rail-list", on: { click: flip } }, "Recent chats");
  const fresh = actionButton({ label: "New", busy: "Opening…", kind: "main", act: openNew });
  const ending = new AbortController();
  let current = null;
  let sessions = [];

  function flip() {
    const open = toggle.getAttribute("aria-expanded") !== "true";
    setAttribute(toggle, "aria-expanded", String(open));
    element.toggleAttribute("data-open", open);
  }

  async function openNew() {
    const agentId = agentRow.hidden ? undefined : agents.value;
    const made = await post("/api/sessions", { channelType: "web", clientInstanceId: instanceId(), ...(agentId ? { agentId } : {}) });
    go(chatHref(made.sessionKey));
  }

  function draw() {
    const known = sessions.some((session) => session.key === current);
    const rows = current === null || known ? sessions : [{ key: current, title: laneTitle({ key: current }), state: "" }, ...sessions];
    keyed(list, rows, (session) => session.key, () => recentRow());
    for (const link of list.querySelectorAll("a")) setAttribute(link, "aria-current", link.dataset.key === current ? "true" : null);
    setText(note, rows.length === 0 ? "No chats yet." : "");
  }

  async function read() {
    const answer = await get(url("/api/sessions/recent", { channelType: "web", clientInstanceId: instanceId(), limit: RECENT_MOST }), { signal: ending.signal });
    sessions = (answer.sessions ?? []).map((row) => ({ key: row.sessionKey ?? row.key, title: laneTitle(row), state: laneState(row), agent: row.agentSlug ?? row.agentId ?? "" }));
    draw();
  }

  async function readAgents() {
    const { agents: all } = await get("/api/agents", { signal: ending.signal });
    const enabled = all.filter((agent) => agent.enabled !== false);
    agents.replaceChildren(...enabled.map((agent) => h("option", { value: agent.id }, agent.name || agent.id)));
    agentRow.hidden = enabled.length < 2;
  }

  const refresh = refresher(read, (error) => setText(note, error.message));
  const unlisten = feed.listen(({ event }) => {
    if (event?.name !== "run.progress") refresh.ask();
  });
  refresh.ask();
  // Without the list of agents, a new chat uses the default agent.
  readAgents().catch(() => {});

  const element = h("aside", { class: "rail", "aria-label": "Chats" },
    h("div", { class: "rail-head" }, h("h2", {}, "Recent"), toggle, fresh.button),
    agentRow, fresh.complaint, list, note);
  return {
    element,
    setCurrent(key) {
      current = key;
      draw();
    },
    stop() {
      ending.abort();
      refresh.stop();
      unlisten();
    },
  };
}

function recentRow() {
  const title = h("span", { class: "recent-title" });
  const state = h("span", { class: "recent-state" });
  const link = h("a", {}, title, state);
  return {
    element: h("li", {}, link),
    update(session) {
      setAttribute(link, "href", chatHref(session.key));
      setAttribute(link, "data-key", session.key);
      setAttribute(link, "data-state", session.state);
      setText(title, session.title);
      setText(state, [session.agent, session.state].filter(Boolean).join(" · "));
    },
  };
}
