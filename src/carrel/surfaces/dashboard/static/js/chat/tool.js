// A tool call in the transcript: one collapsed line with its arguments and result.

import { h, setAttribute, setText } from "../dom.js";
import { firstLine } from "../format.js";

/** Return the row of a tool call, for `keyed`. */
export function toolRow(first) {
  const { name, input } = callOf(first.call);
  const outcome = h("span", { class: "tool-outcome" });
  const output = h("pre", { class: "code", tabindex: 0 });
  const outputHead = h("p", { class: "tool-head" }, "Result");
  const element = h("details", { class: "row tool" },
    h("summary", {}, h("span", { class: "tool-name" }, name), h("span", { class: "tool-input" }, firstLine(input, 90)), outcome),
    h("div", { class: "tool-body" },
      h("p", { class: "tool-head" }, "Call"), h("pre", { class: "code", tabindex: 0 }, pretty(input)), outputHead, output),
  );
  return {
    element,
    update({ result }) {
      const { text, outcome: came } = resultOf(result);
      setText(output, pretty(text));
      output.hidden = outputHead.hidden = result === null;
      setText(outcome, came);
      setAttribute(element, "data-outcome", came);
    },
  };
}

function callOf(message) {
  const parts = Array.isArray(message.content) ? message.content : [];
  const call = parts.find((part) => part.name ?? part.tool ?? part.toolName) ?? message;
  const name = call.name ?? call.tool ?? call.toolName ?? "tool";
  const input = call.arguments ?? call.input ?? parts.find((part) => part.text)?.text ?? "";
  return { name, input: asText(input) };
}

function resultOf(message) {
  if (message === null) return { text: "", outcome: "no result yet" };
  const parts = Array.isArray(message.content) ? message.content : [{ text: message.content }];
  const text = parts.map((part) => asText(part.text ?? part.output ?? part.result ?? "")).join("\n");
  return { text, outcome: parts.find((part) => part.outcome)?.outcome ?? "done" };
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Return JSON indented, anything else unchanged. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
