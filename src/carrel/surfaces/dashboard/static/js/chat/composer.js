// The message field and its buttons. While the newest run asks something, what is written here is the answer.

import { lanePath, post } from "../api.js";
import { actionButton } from "../action.js";
import { h, setAttribute, setText } from "../dom.js";

const HINT = "Enter to send, Shift+Enter for a new line, / for commands.";
// Unsent drafts by lane, kept while the page is open: the text, and the id of the run that it answers or null.
const drafts = new Map();

/**
 * Return `{element, field, setOccupied(bool), setAsking(run), takeBack(line)}`. `send(text, runId)` is called with every
 * message and the run that it answers or null, `decide(run, {approve, text?})` with every decision.
 */
export function composer({ key, send, decide }) {
  const draft = drafts.get(key) ?? { text: "", answers: null };
  const field = h("textarea", { class: "field message", id: "message", rows: 1, autocomplete: "off", "aria-describedby": "answering message-hint" });
  const answering = h("p", { class: "answering", id: "answering", role: "status" });
  const complaint = h("p", { class: "complaint", role: "alert" });
  const sendButton = h("button", { type: "submit", class: "button main" });
  const approve = decisionButton("Approve", "Approving…", () => ({ approve: true }));
  const refuse = decisionButton("Refuse", "Refusing…", () => ({ approve: false, ...(written() ? { text: written() } : {}) }));
  const stop = actionButton({
    label: "Stop", busy: "Stopping…", kind: "quiet",
    act: () => (stop.button.dataset.idle === "true" ? Promise.resolve() : post(lanePath(key, "/stop"))),
  });
  let asking = null;
  field.value = draft.text;

  const written = () => field.value.trim();

  function decisionButton(label, busy, decision) {
    return actionButton({
      label, busy, kind: "quiet decision",
      act: async () => {
        const given = decision();
        await decide(asking, given);
        if (given.text) setDraft("");
        field.focus();
      },
    });
  }

  function setDraft(text, answers = asking?.id ?? null) {
    field.value = text;
    keepDraft(answers);
  }

  // A text belongs to what was asked when it was begun, so that nobody answers a question that they have not seen.
  function keepDraft(answers) {
    if (draft.text === "" || field.value === "") draft.answers = answers;
    draft.text = field.value;
    drafts.set(key, draft);
    draw();
  }

  function submit(event) {
    event.preventDefault();
    const text = written();
    field.focus();
    if (text === "") return;
    const { answers } = draft;
    setText(complaint, "");
    setDraft("");
    send(text, answers);
  }

  function draw() {
    const answers = draft.text === "" ? (asking?.id ?? null) : draft.answers;
    const approval = asking?.waitingFor === "approval";
    setText(answering, said(asking, answers));
    setText(sendButton, answers === null ? "Send" : "Answer");
    setAttribute(field, "placeholder", asking === null ? "Message this agent…" : approval ? "yes, or no and why" : "Your answer…");
    approve.button.hidden = refuse.button.hidden = !approval;
    for (const each of [approve, refuse]) if (!approval) setText(each.complaint, "");
  }

  field.addEventListener("input", () => keepDraft(asking?.id ?? null));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  draw();

  const element = h("form", { class: "composer", "aria-label": "Write", on: { submit } },
    answering,
    h("label", { for: "message", class: "sr" }, "Message"),
    field,
    h("div", { class: "composer-buttons" }, sendButton, approve.button, refuse.button, stop.button),
    h("p", { class: "hint", id: "message-hint" }, HINT),
    complaint, approve.complaint, refuse.complaint, stop.complaint,
  );
  return {
    element,
    field,
    setOccupied(occupied) {
      stop.button.dataset.idle = String(!occupied);
      setAttribute(stop.button, "title", occupied ? "Cancel the running and queued runs of this lane" : "Nothing is running");
    },
    setAsking(run) {
      asking = run;
      draw();
    },
    /** Put a refused answer back and say why; false if there is another text by now. */
    takeBack({ text, answers, error }) {
      if (field.value !== "") return false;
      setDraft(text, answers);
      setText(complaint, `Not sent: ${error}`);
      return true;
    },
  };
}

/** Return what will become of the text in the field, as far as that is not plain. */
function said(asking, answers) {
  if (answers === null) return asking === null ? "" : "A question came while you were writing. This text is a message of its own.";
  if (asking?.id !== answers) return "The question that you were answering is no longer open.";
  if (asking.waitingFor === "approval") return "Your message answers the question above: yes, or no and why.";
  return "Your message answers the question above.";
}
