// The receipt dialog: what the agent saw, and how large each part was.

import { get, runPath } from "./api.js";
import { h, setChildren } from "./dom.js";
import { characters, plural } from "./format.js";

/** Open the dialog with a run's receipt; focus returns to `opener` when it closes. */
export async function openReceipt(runId, opener) {
  const body = h("div", { class: "receipt-body" }, h("p", { class: "note" }, "Loading…"));
  const close = h("button", { type: "button", class: "button quiet", on: { click: () => dialog.close() } }, "Close");
  const dialog = h("dialog", { class: "receipt", "aria-labelledby": "receipt-title" },
    h("div", { class: "receipt-head" }, h("h2", { id: "receipt-title" }, "What the agent saw"), close), body);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (opener.isConnected) opener.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  try {
    setChildren(body, receiptNodes(await get(runPath(runId, "/receipt"))));
  } catch (error) {
    setChildren(body, h("p", { class: "complaint", role: "alert" }, error.message));
  }
}

function receiptNodes(receipt) {
  const steps = receipt.steps ?? [];
  return [
    h("p", { class: "receipt-where" }, h("code", {}, receipt.deliverySessionKey ?? receipt.sessionKey ?? ""), ` · ${plural(steps.length, "step")}`),
    steps.length === 0 ? h("p", { class: "note" }, "Nothing was sent to a model in this run.") : null,
    ...steps.map((step, i) => stepNode(step, i === steps.length - 1)),
  ];
}

function stepNode(step, open) {
  const input = inputItems(step.input);
  const parts = [
    ["instructions", step.instructions ?? ""],
    ["input", input.map((item) => item.text).join("\n")],
    ["output", outputText(step.output)],
  ];
  const attempt = step.attempt > 1 ? `, attempt ${step.attempt}` : "";
  return h("details", { class: "step", open },
    h("summary", {}, `Step ${step.n}${attempt}`, h("span", { class: "note" }, [step.model, time(step.sentAt) || "nothing was sent"].filter(Boolean).join(" · "))),
    sizes(parts),
    part("Instructions", step.instructions, [step.instructionsVersion, shortHash(step.instructionsSha256)].filter(Boolean).join(" · ")),
    h("details", { class: "part" }, h("summary", {}, "Input", h("span", { class: "note" }, plural(input.length, "item") + omitted(step.historyOmitted))), input.map(inputNode)),
    h("details", { class: "part" }, h("summary", {}, "Tools", h("span", { class: "note" }, plural((step.tools ?? []).length, "tool"))),
      h("ul", { class: "chips" }, (step.tools ?? []).map((name) => h("li", {}, typeof name === "string" ? name : name.name)))),
    step.leftOut?.length > 0 ? h("p", { class: "note" }, `This gateway cannot be told: ${step.leftOut.join(", ")}.`) : null,
    part("Output", outputText(step.output), ""),
    step.bodySha256 ? h("p", { class: "note" }, "Body sent: sha256 ", h("code", {}, shortHash(step.bodySha256))) : null,
  );
}

/** Return a bar with one segment per part, in proportion to its length. */
function sizes(parts) {
  const present = parts.filter(([, text]) => text !== "");
  const bar = h("div", { class: "sizes", role: "img", "aria-label": present.map(([name, text]) => `${name} ${characters(text.length)}`).join(", ") });
  for (const [name, text] of present) {
    const segment = h("span", { class: `size ${name}` });
    segment.style.flexGrow = String(text.length);
    bar.append(segment);
  }
  const legend = h("ul", { class: "legend", "aria-hidden": "true" }, present.map(([name, text]) =>
    h("li", {}, h("span", { class: `swatch ${name}` }), `${name} `, h("b", {}, characters(text.length)))));
  return h("div", {}, bar, legend);
}

function part(title, text, note) {
  if (!text) return null;
  return h("details", { class: "part" }, h("summary", {}, title, h("span", { class: "note" }, note)), h("pre", { class: "code wrap", tabindex: 0 }, text));
}

/** Return the input as a list of role and text, whether it was sent as a string or as items. */
function inputItems(input) {
  if (input === null || input === undefined) return [];
  if (typeof input === "string") return [{ role: "input", text: input }];
  if (!Array.isArray(input)) return [{ role: "input", text: JSON.stringify(input, null, 2) }];
  return input.map((item) => ({ role: item.role ?? item.type ?? "item", text: itemText(item) }));
}

function itemText(item) {
  if (typeof item === "string") return item;
  if (item.type === "function_call") return `${item.name}(${item.arguments ?? ""})`;
  if (item.type === "function_call_output") return typeof item.output === "string" ? item.output : JSON.stringify(item.output);
  if (typeof item.content === "string") return item.content;
  if (Array.isArray(item.content)) return item.content.map((each) => each.text ?? JSON.stringify(each)).join("\n");
  return JSON.stringify(item, null, 2);
}

function inputNode({ role, text }) {
  return h("div", { class: "input-item" }, h("p", { class: "speaker" }, role), h("pre", { class: "code wrap", tabindex: 0 }, text));
}

function outputText(output) {
  if (output === null || output === undefined) return "";
  return typeof output === "string" ? output : inputItems(output).map((item) => item.text).join("\n");
}

const shortHash = (hash) => (hash ? hash.slice(0, 12) : "");
const omitted = (count) => (count > 0 ? ` · ${plural(count, "older message")} left out` : "");
const time = (value) => (value ? new Date(value).toLocaleTimeString() : "");
