// Read texts with the page's Markdown modules: from standard input, {folder, texts, hostile}; to standard output, JSON.

import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const { folder, texts, hostile } = JSON.parse(readFileSync(0, "utf8"));
const from = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { blocksOf } = await from("blocks.js");
const { inline } = await from("inline.js");

const tagged = (tag, inner) => `<${tag}>${inner}</${tag.split(" ")[0]}>`;
const words = (text) => inline(text).map(word).join("");
const word = (node) => (typeof node === "string" ? node : tagged(node.tag === "a" ? `a ${node.href} ${node.target}`.trim() : node.tag, node.children.map(word).join("")));
const cells = (tag, row) => row.map((cell) => tagged(tag, words(cell))).join("");

const html = {
  paragraph: ({ text }) => tagged("p", words(text)),
  heading: ({ level, text }) => tagged(`h${level}`, words(text)),
  code: ({ language, text }) => tagged(`pre ${language}`.trim(), text),
  quote: ({ blocks }) => tagged("quote", blocks.map(show).join("")),
  list: ({ start, items }) => tagged(start === null ? "ul" : `ol ${start}`, items.map((blocks) => tagged("li", blocks.map(show).join(""))).join("")),
  rule: () => "<hr>",
  table: ({ aligns, head, rows }) => tagged(`table ${aligns.map((align) => align ?? "-").join(" ")}`, [cells("th", head), ...rows.map((row) => cells("td", row))].join(" / ")),
};
const show = (block) => html[block.kind](block);
const read = (text) => blocksOf(text).map((part) => show(part.block)).join("");

function milliseconds(text) {
  const started = process.cpuUsage().user;
  read(text);
  return (process.cpuUsage().user - started) / 1000;
}

const times = Object.fromEntries(Object.entries(hostile).map(([piece, count]) => {
  milliseconds(piece.repeat(count / 10));
  return [piece, [milliseconds(piece.repeat(count)), milliseconds(piece.repeat(count * 10))]];
}));
console.log(JSON.stringify({ shown: texts.map(read), times }));
