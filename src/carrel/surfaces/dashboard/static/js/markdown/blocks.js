// The blocks of a Markdown text: paragraphs, headings, code, quotes, lists, tables, rules. Pure, and linear in the text:
// every line is looked at a fixed number of times, and blocks nest at most DEPTH_MOST deep.

const DEPTH_MOST = 6;
const COLUMNS_MOST = 40;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const FENCE_END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:( +)|$)/;
const DELIMITERS = /^[ \t|:-]+$/;
const ALIGNED = { "--": null, ":-": "left", "-:": "right", "::": "center" };

/**
 * Return the blocks of a text, each with where it starts and its source. A block is `{kind, ...}`: `paragraph` {text},
 * `heading` {level, text}, `code` {language, text}, `quote` {blocks}, `list` {start, items}, `table` {aligns, head, rows},
 * `rule`. Texts are still to be read by `inline`; `start` is null for a list without numbers.
 */
export function blocksOf(text) {
  const lines = text.split("\n");
  const parts = [];
  let offset = 0;
  let counted = 0;
  for (const { from, to, block } of read(lines, 0)) {
    for (; counted < from; counted += 1) offset += lines[counted].length + 1;
    parts.push({ start: offset, source: lines.slice(from, to).join("\n"), block });
  }
  return parts;
}

function read(lines, depth) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const { to, block } = next(lines, at, depth);
    found.push({ from: at, to, block });
    at = to;
  }
  return found;
}

/** Read the block that starts at a line which is not blank. */
function next(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return code(lines, at);
  if (HEADING.test(line)) return { to: at + 1, block: heading(line) };
  if (isRule(line)) return { to: at + 1, block: { kind: "rule" } };
  if (depth < DEPTH_MOST && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < DEPTH_MOST && ITEM.test(line)) return list(lines, at, depth);
  return table(lines, at) ?? paragraph(lines, at, depth);
}

function code(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  const body = [];
  for (let to = at + 1; to < lines.length; to += 1) {
    const end = FENCE_END.exec(lines[to]);
    if (end !== null && end[1][0] === fence[0] && end[1].length >= fence.length) {
      return { to: to + 1, block: { kind: "code", language: language.trim(), text: body.join("\n") } };
    }
    body.push(lines[to]);
  }
  // Still being written, or never closed: it goes on to the end.
  return { to: lines.length, block: { kind: "code", language: language.trim(), text: body.join("\n") } };
}

function heading(line) {
  const [all, marks] = HEADING.exec(line);
  const text = line.slice(all.length).trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  const isClosed = end === 0 || " \t".includes(text[end - 1]);
  return { kind: "heading", level: marks.length, text: isClosed ? text.slice(0, end).trimEnd() : text };
}

function isRule(line) {
  const bare = line.replace(/[ \t]/g, "");
  return bare.length >= 3 && "-*_".includes(bare[0]) && [...bare].every((mark) => mark === bare[0]);
}

function quote(lines, at, depth) {
  const inner = [];
  let to = at;
  while (to < lines.length && QUOTE.test(lines[to])) {
    inner.push(lines[to].replace(QUOTE, ""));
    to += 1;
  }
  return { to, block: { kind: "quote", blocks: read(inner, depth + 1).map((part) => part.block) } };
}

function list(lines, at, depth) {
  const first = itemOf(lines[at]);
  const items = [];
  let item = null;
  let to = at;
  let blank = false;
  for (let n = at; n < lines.length; n += 1) {
    const line = lines[n];
    if (line.trim() === "") {
      item.lines.push("");
      blank = true;
      continue;
    }
    const opened = itemOf(line);
    const indent = line.length - line.trimStart().length;
    if (opened !== null && !isRule(line) && (item === null || opened.indent < item.offset)) {
      if (opened.ordered !== first.ordered || (item !== null && opened.indent + 1 < first.indent)) break;
      item = { offset: opened.offset, lines: [line.slice(opened.offset)] };
      items.push(item);
    } else if (indent >= item.offset) item.lines.push(line.slice(item.offset));
    else if (blank || startsBlock(line)) break;
    else item.lines.push(line.trimStart());
    blank = false;
    to = n + 1;
  }
  const blocks = items.map((each) => read(each.lines, depth + 1).map((part) => part.block));
  return { to, block: { kind: "list", start: first.ordered ? first.number : null, items: blocks } };
}

function itemOf(line) {
  const found = ITEM.exec(line);
  if (found === null) return null;
  const [, indent, mark, gap] = found;
  const ordered = mark.length > 1;
  // More than four spaces belong to what follows.
  const width = gap === undefined || gap.length > 4 ? 1 : gap.length;
  return { indent: indent.length, ordered, number: ordered ? Number.parseInt(mark, 10) : null, offset: indent.length + mark.length + width };
}

/** Tell whether a line ends the paragraph before it. A number does so only if it begins a list, or dates would. */
function startsBlock(line) {
  const item = itemOf(line);
  const isItem = item !== null && line.length > item.offset && (!item.ordered || item.number === 1);
  return isItem || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || isRule(line);
}

function paragraph(lines, at, depth) {
  let to = at + 1;
  // Where nothing may nest any more, markers are text.
  while (to < lines.length && lines[to].trim() !== "" && (depth >= DEPTH_MOST || !startsBlock(lines[to])) && !isTable(lines, to)) to += 1;
  return { to, block: { kind: "paragraph", text: lines.slice(at, to).join("\n").trim() } };
}

function isTable(lines, at) {
  const under = lines[at + 1];
  return under !== undefined && lines[at].includes("|") && under.includes("|") && DELIMITERS.test(under);
}

function table(lines, at) {
  if (!isTable(lines, at)) return null;
  const head = cellsOf(lines[at]);
  const under = cellsOf(lines[at + 1]);
  if (head.length !== under.length || head.length > COLUMNS_MOST || !under.every((cell) => /^:?-+:?$/.test(cell))) return null;
  const aligns = under.map((cell) => ALIGNED[(cell[0] === ":" ? ":" : "-") + (cell.length > 1 && cell.endsWith(":") ? ":" : "-")]);
  const rows = [];
  let to = at + 2;
  for (; to < lines.length && lines[to].includes("|") && !QUOTE.test(lines[to]); to += 1) rows.push(cellsOf(lines[to]).slice(0, head.length));
  return { to, block: { kind: "table", aligns, head, rows } };
}

/** Split a row at its bars; one after a backslash is text. */
function cellsOf(line) {
  const cells = [];
  const row = line.trim();
  let from = row.startsWith("|") ? 1 : 0;
  for (let at = from; at < row.length; at += 1) {
    if (row[at] === "\\") at += 1;
    else if (row[at] === "|") {
      cells.push(row.slice(from, at));
      from = at + 1;
    }
  }
  if (from < row.length) cells.push(row.slice(from));
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
