// Entry point: sign-in, routing, and the event stream that all routes share.

import { get, onSignedOut } from "./api.js";
import { chatView } from "./chat/chat.js";
import { h, setChildren } from "./dom.js";
import { Feed } from "./feed.js";
import { homeView } from "./home/home.js";
import { shell } from "./shell.js";
import { missingView, taskView } from "./task.js";
import { signIn, signInPage, tokenFromAddress, whyNot } from "./signin.js";

const app = document.getElementById("app");

// What exists only while signed in; null on the sign-in page.
let signedIn = null;

/** Return the route of an address. */
function match(path) {
  const [, place, rest] = /^\/([^/]*)(?:\/(.+))?$/.exec(path.replace(/(?<=.)\/+$/, "")) ?? [];
  const id = rest === undefined ? null : decodeURIComponent(rest);
  if (place === "" && id === null) return { route: "/", open: (context) => homeView(context) };
  // What a link without a key leads to names no chat.
  if (place === "chat" && id !== "null") return { route: "/chat", open: (context) => chatView(context, id) };
  if (place === "tasks" && id !== null) return { route: "/tasks", open: (context) => taskView(context, id) };
  return { route: null, open: (context) => missingView(context) };
}

function showRoute({ focus }) {
  signedIn.view?.stop();
  const { route, open } = match(location.pathname);
  const view = open({ feed: signedIn.feed, go, setTitle });
  signedIn.view = view;
  signedIn.shell.show(view, route);
  window.scrollTo(0, 0);
  if (focus) view.focus();
}

/** Navigate within the page without reloading it. */
function go(href, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  showRoute({ focus: true });
}

function setTitle(text) {
  document.title = `${text} · Carrel`;
}

function closeApp() {
  signedIn?.view?.stop();
  signedIn?.shell.stop();
  signedIn?.feed.stop();
  signedIn = null;
}

function showSignIn(complaint = "") {
  closeApp();
  const page = signInPage(() => enter(), complaint);
  setTitle(page.title);
  setChildren(app, page.element);
  page.focus();
}

function showUnreachable(error) {
  closeApp();
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
  closeApp();
  const feed = new Feed();
  signedIn = { feed, view: null, shell: shell({ feed, me, signedOut: () => showSignIn() }) };
  setChildren(app, signedIn.shell.element);
  // On Home the first Tab should reach the skip link; in a chat the user wants to type.
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
  if (link === null || link === undefined || link.target || signedIn === null) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

window.addEventListener("popstate", () => {
  if (signedIn !== null) showRoute({ focus: true });
});

// Pasting an address with a token over an open page changes only the fragment.
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) begin();
});

onSignedOut(() => showSignIn());

begin();
