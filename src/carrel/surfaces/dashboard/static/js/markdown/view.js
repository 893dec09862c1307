// Markdown as elements. Nothing here parses markup: what an agent writes becomes text nodes, and only the tags below.

import { h } from "../dom.js";
import { blocksOf } from "./blocks.js";
import { inline } from "./inline.js";

// The page's own headings come first.
const HEADING_FIRST = 3;
const HEADING_LAST = 6;
// While a text grows, its last blocks may still become something else.
const UNSETTLED = 2;

/** Return the nodes of a Markdown text. */
export function markdown(text) {
  return blocksOf(normal(text)).map((part) => blockNode(part.block));
}

/** Return `update(text)`, which shows a growing text in an element: blocks that are complete keep their nodes. */
export function growing(element) {
  let shown = "";
  let parts = [];

  return function update(given) {
    const text = normal(given);
    if (text === shown) return;
    const kept = text.startsWith(shown) ? parts.slice(0, -UNSETTLED) : [];
    const from = kept.length === 0 ? 0 : parts[kept.length].start;
    const read = blocksOf(text.slice(from)).map((part) => ({ ...part, start: part.start + from }));
    const fresh = read.map((part, n) => {
      const before = parts[kept.length + n];
      return before?.source === part.source ? { ...part, node: before.node } : { ...part, node: blockNode(part.block) };
    });
    parts = [...kept, ...fresh];
    shown = text;
    replaceFrom(element, kept.length, fresh.map((part) => part.node));
  };
}

/** Make these the children of an element from the n-th on; those that stay are not touched. */
function replaceFrom(element, first, nodes) {
  const same = nodes.findIndex((node, n) => element.childNodes[first + n] !== node);
  const from = same === -1 ? nodes.length : same;
  while (element.childNodes.length > first + from) element.lastChild.remove();
  element.append(...nodes.slice(from));
}

const normal = (text) => (text ?? "").replaceAll("\r\n", "\n");

const BLOCKS = {
  paragraph: ({ text }) => h("p", { class: "prose" }, words(text)),
  heading: ({ level, text }) => h(`h${Math.min(HEADING_LAST, level + HEADING_FIRST - 1)}`, { class: "prose-heading" }, words(text)),
  code: ({ language, text }) => h("pre", { class: "code", tabindex: 0, "data-language": language || null }, h("code", {}, text)),
  quote: ({ blocks }) => h("blockquote", {}, blocks.map(blockNode)),
  list: ({ start, items }) => h(start === null ? "ul" : "ol", { class: "prose-list", start: start === null || start === 1 ? null : start }, items.map(itemNode)),
  rule: () => h("hr", {}),
  table: tableNode,
};

function blockNode(block) {
  return BLOCKS[block.kind](block);
}

function itemNode(blocks) {
  const [first, ...rest] = blocks;
  // A line of a list is no paragraph of its own.
  return h("li", {}, first?.kind === "paragraph" ? words(first.text) : (first && blockNode(first)), rest.map(blockNode));
}

function tableNode({ aligns, head, rows }) {
  const row = (tag, cells) => h("tr", {}, cells.map((cell, n) => h(tag, { "data-align": aligns[n] }, words(cell))));
  return h("div", { class: "table", tabindex: 0 }, h("table", {}, h("thead", {}, row("th", head)), h("tbody", {}, rows.map((cells) => row("td", cells)))));
}

const words = (text) => inline(text).map(wordNode);

function wordNode(node) {
  if (typeof node === "string") return node;
  const children = node.children.map(wordNode);
  if (node.tag !== "a") return h(node.tag, {}, children);
  return h("a", { href: node.href, title: node.href, rel: "noopener noreferrer", target: "_blank" },
    children, node.target === "" ? null : h("span", { class: "target" }, ` (${node.target})`));
}
