// A button that does something on the server: says so while it waits, and says why when it could not.

import { h, setText } from "./dom.js";

/**
 * Make a button and the place of its complaint. `act()` returns a promise; while it is open the button reads `busy`
 * and cannot be pressed again. `done`, when given, is what it reads afterwards until the page has re-read.
 */
export function doing({ label, busy, done, kind = "quiet", name, act }) {
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
