// A button that calls the server: it shows that it is working, and the error if the call fails.

import { h, setText } from "./dom.js";

/**
 * Return a button and the element for its error. `act()` returns a promise; until it settles, the button shows `busy`
 * and cannot be pressed again. `done`, if given, is its label afterwards, until the page has been refreshed.
 */
export function actionButton({ label, busy, done, kind = "quiet", name, act }) {
  const complaint = h("span", { class: "complaint", role: "alert" });
  const button = h("button", { type: "button", class: `button ${kind}`, "aria-label": name ?? null }, label);
  let pending = false;
  button.addEventListener("click", async () => {
    if (pending) return;
    pending = true;
    button.setAttribute("aria-disabled", "true");
    setText(button, busy);
    setText(complaint, "");
    try {
      await act();
      setText(button, done ?? label);
    } catch (error) {
      setText(complaint, error.message);
      setText(button, label);
    }
    pending = false;
    button.removeAttribute("aria-disabled");
  });
  return { button, complaint, nodes: [button, complaint] };
}
