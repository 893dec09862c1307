// The start of the page: sign-in, the routes, and the one stream they share.

import { get, onSignedOut } from "./api.js";
import { chatView } from "./chat/chat.js";
import { h, setChildren } from "./dom.js";
import { Feed } from "./feed.js";
import { homeView } from "./home/home.js";
import { shell } from "./shell.js";
import { signIn, signInPage, tokenFromAddress, whyNot } from "./signin.js";

const app = document.getElementById("app");

// Everything that lives while someone is signed in; null in front of the sign-in page.
let desk = null;

/** Find the view of an address; unknown ones lead home. */
function match(path) {
  const chat = /^\/chat(?:\/(.+))?$/.exec(path.replace(/\/+$/, ""));
  if (chat === null) return { route: "/", open: (room) => homeView(room) };
  const key = chat[1] === undefined ? null : decodeURIComponent(chat[1]);
  return { route: "/chat", open: (room) => chatView(room, key) };
}

function showRoute({ focus }) {
  desk.view?.stop();
  const { route, open } = match(location.pathname);
  const view = open({ feed: desk.feed, go, setTitle });
  desk.view = view;
  desk.shell.show(view, route);
  window.scrollTo(0, 0);
  if (focus) view.focus();
}

/** Go to another address of the page without loading it anew. */
function go(href, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  showRoute({ focus: true });
}

function setTitle(text) {
  document.title = `${text} · Carrel`;
}

function leaveDesk() {
  desk?.view?.stop();
  desk?.shell.stop();
  desk?.feed.stop();
  desk = null;
}

function showSignIn(complaint = "") {
  leaveDesk();
  const page = signInPage(() => enter(), complaint);
  setTitle(page.title);
  setChildren(app, page.element);
  page.focus();
}

function showUnreachable(error) {
  leaveDesk();
  const again = h("button", { type: "button", class: "button main", on: { click: () => enter() } }, "Try again");
  setTitle("Not reachable");
  setChildren(app, h("main", { class: "signin" }, h("div", { class: "signin-card" },
    h("h1", {}, "Not reachable"), h("p", { class: "lead", role: "alert" }, error.message), again)));
}

async function enter() {
  let me;
  try {
    me = await get("/api/auth/me");
  } catch (error) {
    if (error.status === 401) return;
    showUnreachable(error);
    return;
  }
  leaveDesk();
  const feed = new Feed();
  desk = { feed, view: null, shell: shell({ feed, me, signedOut: () => showSignIn() }) };
  setChildren(app, desk.shell.element);
  // On Home a first Tab should come to the way past the navigation; in a chat one wants to write.
  showRoute({ focus: match(location.pathname).route === "/chat" });
  feed.start();
}

async function begin() {
  const token = tokenFromAddress();
  if (token !== null) {
    try {
      await signIn(token);
    } catch (error) {
      showSignIn(whyNot(error));
      return;
    }
  }
  await enter();
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href^='/']");
  if (link === null || link === undefined || link.target || desk === null) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

window.addEventListener("popstate", () => {
  if (desk !== null) showRoute({ focus: true });
});

// An address with a token pasted over an open page changes only the fragment.
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) begin();
});

onSignedOut(() => showSignIn());

begin();
