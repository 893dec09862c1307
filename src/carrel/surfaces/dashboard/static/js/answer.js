// A run that waits for a person: its question, and the means to answer or to give it up.

import { post, runPath } from "./api.js";
import { doing } from "./doing.js";
import { freshId, h, setText } from "./dom.js";

/** Give the answer form of a waiting run: `{element, complaint}` stays while the run does, with what is half written. */
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
      setText(note, "Sent. The run goes on in its lane.");
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
    h("label", { for: id }, approval ? "A word with your decision (not required)" : "Your answer"),
    field,
    h("div", { class: "buttons" }, buttons, cancel.button, note),
    complaint, cancel.complaint,
  );
}

function cancelOnly(run, answered) {
  return h("div", { class: "answer" }, h("div", { class: "buttons" }, cancelButton(run, answered).nodes));
}

function cancelButton(run, answered) {
  return doing({
    label: "Cancel run", busy: "Cancelling…", done: "Cancelled", kind: "plain",
    act: () => post(runPath(run.id, "/cancel")).then(answered),
  });
}

/** The question of a waiting run, as far as the run tells it. */
export function question(run) {
  return run.reply || run.note || "The agent waits and gave no question.";
}
