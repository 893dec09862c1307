// Messages as text: line breaks and fenced code blocks, never markup.

import { h } from "./dom.js";

const FENCE = /^\s*```\s*([\w+#.-]*)\s*$/;

/** Return the nodes of a text: paragraphs that keep their line breaks, and code blocks. */
export function prose(text) {
  const nodes = [];
  let lines = [];
  let language = null;
  const flush = () => {
    const block = lines.join("\n");
    lines = [];
    if (language !== null) nodes.push(h("pre", { class: "code", tabindex: 0, "data-language": language || null }, h("code", {}, block)));
    else if (block.trim() !== "") nodes.push(h("p", { class: "prose" }, block.replace(/^\n+|\n+$/g, "")));
  };
  for (const line of (text ?? "").split("\n")) {
    const fence = FENCE.exec(line);
    if (fence === null) lines.push(line);
    else {
      flush();
      language = language === null ? fence[1] : null;
    }
  }
  flush();
  return nodes;
}
