// Sign-in: a token from the address or the form is exchanged for a cookie and not kept.

import { post } from "./api.js";
import { h, setText } from "./dom.js";
import { brand } from "./brand.js";

/** Remove the token from the address and return it; null when there is none. */
export function tokenFromAddress() {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (match === null) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    return decodeURIComponent(match[1]);
  } catch {
    return match[1];
  }
}

/** Exchange a token for the cookie; throws a Refusal. */
export const signIn = (token) => post("/api/auth/session", { token: token.trim() });

/** Return why a token was refused. */
export function whyNot(error) {
  if (error.status === 401) return "This token is not known. Check that you copied all of it.";
  return error.message;
}

/** Return the sign-in page; `entered()` is called after a successful sign-in. */
export function signInPage(entered, firstComplaint = "") {
  const field = h("input", {
    id: "token", class: "field token", type: "text", name: "token", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", required: true, "aria-describedby": "token-complaint",
  });
  const complaint = h("p", { id: "token-complaint", class: "complaint", role: "alert" }, firstComplaint);
  const button = h("button", { type: "submit", class: "button main" }, "Sign in");

  async function send(event) {
    event.preventDefault();
    if (field.value.trim() === "" || button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    setText(button, "Signing in…");
    setText(complaint, "");
    try {
      await signIn(field.value);
      field.value = "";
      entered();
    } catch (error) {
      setText(complaint, whyNot(error));
      field.setAttribute("aria-invalid", "true");
      field.select();
    }
    button.removeAttribute("aria-disabled");
    setText(button, "Sign in");
  }

  const element = h("main", { class: "signin" },
    h("div", { class: "signin-card" },
      brand("large"),
      h("h1", {}, "Sign in"),
      h("p", { class: "lead" }, "Use the owner’s token, or a token that the owner created for you."),
      h("form", { on: { submit: send } },
        h("label", { for: "token" }, "Token"),
        field,
        complaint,
        button,
      ),
      h("p", { class: "hint" }, "The owner’s token is in the file ", h("code", {}, "owner_token"), " in the server’s data directory. The server also prints an address that signs you in."),
    ),
  );
  return { element, title: "Sign in", focus: () => field.focus() };
}
