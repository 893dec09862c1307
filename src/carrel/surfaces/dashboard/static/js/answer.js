// A run that waits for a person: its question, and a form to answer or cancel it.

import { post, runPath } from "./api.js";
import { actionButton } from "./action.js";
import { freshId, h, setText } from "./dom.js";
import { markdown } from "./markdown/view.js";

/** Return the answer form of a waiting run. It is kept as long as the run waits, so a half-written answer is not lost. */
export function answerForm(run, { answered = () => {} } = {}) {
  const approval = run.waitingFor === "approval";
  if (run.waitingFor === "tool_output") return cancelOnly(run, answered);
  const id = freshId("answer");
  const field = h("textarea", { id, class: "field", rows: 2, autocomplete: "off" });
  const note = h("p", { class: "note", role: "status" });
  const complaint = h("p", { class: "complaint", role: "alert" });
  const buttons = approval
    ? [answerButton("Approve", "main", { approve: true }), answerButton("Refuse", "quiet", { approve: false })]
    : [answerButton("Answer", "main", {})];

  function answerButton(label, kind, decision) {
    return h("button", { type: "button", class: `button ${kind}`, on: { click: () => send(decision) } }, label);
  }

  async function send(decision) {
    const text = field.value.trim();
    if ((!approval && text === "") || field.readOnly) {
      field.focus();
      return;
    }
    setSending(true);
    try {
      await post(runPath(run.id, "/answer"), text === "" ? decision : { ...decision, text });
      setText(note, "Sent. The run continues.");
      answered();
    } catch (error) {
      setText(complaint, error.message);
      setText(note, "");
      setSending(false);
    }
  }

  function setSending(sending) {
    field.readOnly = sending;
    for (const button of buttons) button.toggleAttribute("disabled", sending);
    if (sending) {
      setText(complaint, "");
      setText(note, "Sending…");
    }
  }

  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || approval) return;
    event.preventDefault();
    send({});
  });

  const cancel = cancelButton(run, answered);
  return h("div", { class: "answer" },
    h("label", { for: id }, approval ? "Comment (optional)" : "Your answer"),
    field,
    h("div", { class: "buttons" }, buttons, cancel.button, note),
    complaint, cancel.complaint,
  );
}

function cancelButton(run, answered) {
  return actionButton({
    label: "Cancel run", busy: "Cancelling…", done: "Cancelled", kind: "plain",
    act: () => post(runPath(run.id, "/cancel")).then(answered),
  });
}

/** Return the question of a waiting run. What is to be approved is shown as it is: Markdown could hide a part of it. */
export function question(run) {
  const text = run.reply || run.note || "The agent is waiting but gave no question.";
  return run.waitingFor === "approval" ? h("p", { class: "prose" }, text) : markdown(text);
}

/** Return only the button that cancels a waiting run: it is answered elsewhere on the page, or by a program. */
export function cancelOnly(run, answered = () => {}) {
  return h("div", { class: "answer" }, h("div", { class: "buttons" }, cancelButton(run, answered).nodes));
}
