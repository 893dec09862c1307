// The text within a block: emphasis, code, links. Pure, and linear in the text: the search for the end of a mark never
// starts over, and at most OPEN_MOST marks are open at a time, so nothing nests deeper.

const OPEN_MOST = 16;
const ADDRESS_MOST = 2_000;
const SPECIAL = /[\\`*_~[\]<]|!\[|https?:\/\//gi;
const ESCAPED = /[!-/:-@[-`{-~]/;
const IN_ANGLES = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy;
const BARE = /https?:\/\/[^\s<>"`*|\\^{}[\]]{1,2000}/iy;
const TARGET = /\([ \t\n]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:[ \t\n]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t\n]*\)/y;
const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const PUNCTUATION = /[\p{P}\p{S}]/u;
const MARKS = { em: 1, strong: 2, del: 2 };

/**
 * Return what a text is made of: strings, and nodes `{tag, children}` with `em`, `strong`, `del`, `code` and `a`, which
 * also has `href` and `target`, the place it leads to if the label does not say so. Within a label there are no links.
 */
export function inline(text, { links = true } = {}) {
  return new Reader(text, links).read();
}

class Reader {
  #text;
  #links;
  #at = 0;
  // What was read; marks that are still open are nodes of their own, and text if they stay open.
  #out = [];
  #open = [];
  #brackets = [];
  #ticks;

  constructor(text, links) {
    this.#text = text;
    this.#links = links;
    this.#ticks = ticksOf(text);
  }

  read() {
    const text = this.#text;
    while (this.#at < text.length) {
      SPECIAL.lastIndex = this.#at;
      const found = SPECIAL.exec(text);
      if (found === null) break;
      this.#say(text.slice(this.#at, found.index));
      this.#at = found.index;
      this.#take(found[0]);
    }
    this.#say(text.slice(this.#at));
    return this.#out.map(settled);
  }

  #say(words) {
    if (words === "") return;
    if (typeof this.#out.at(-1) === "string") this.#out[this.#out.length - 1] += words;
    else this.#out.push(words);
  }

  #skip(length) {
    this.#say(this.#text.slice(this.#at, this.#at + length));
    this.#at += length;
  }

  #take(mark) {
    if (mark === "\\") this.#escape();
    else if (mark === "`") this.#code();
    else if (mark === "[" || mark === "![") this.#bracket(mark);
    else if (mark === "]") this.#link();
    else if (mark === "<") this.#angles();
    else if (mark.length > 2) this.#bare(mark);
    else this.#emphasis(mark);
  }

  #escape() {
    const next = this.#text[this.#at + 1];
    if (next !== undefined && ESCAPED.test(next)) {
      this.#say(next);
      this.#at += 2;
    } else this.#skip(1);
  }

  #code() {
    const length = runOf(this.#text, this.#at);
    // After an escaped one, a run is shorter than it was counted.
    const ends = this.#ticks.get(length) ?? { at: [], next: 0 };
    while (ends.next < ends.at.length && ends.at[ends.next] <= this.#at) ends.next += 1;
    const end = ends.at[ends.next];
    if (end === undefined) return this.#skip(length);
    const words = this.#text.slice(this.#at + length, end);
    const padded = words.startsWith(" ") && words.endsWith(" ") && words.trim() !== "";
    this.#out.push({ tag: "code", children: [padded ? words.slice(1, -1) : words] });
    this.#at = end + length;
  }

  #bracket(mark) {
    this.#brackets.push({ at: this.#out.length, from: this.#at + mark.length, isImage: mark.length > 1 });
    this.#out.push({ mark, count: 1 });
    this.#at += mark.length;
  }

  #link() {
    const opened = this.#brackets.pop();
    TARGET.lastIndex = this.#at + 1;
    const found = opened === undefined || !this.#links ? null : TARGET.exec(this.#text);
    const written = found === null ? "" : (found[1] ?? found[2]);
    const href = safeAddress(written);
    if (href === null) return this.#skip(1);
    const label = this.#text.slice(opened.from, this.#at);
    const shown = label.trim() === "" ? written : label;
    this.#out.length = opened.at;
    this.#open = this.#open.filter((each) => each.at < opened.at);
    // A link cannot be within another.
    this.#brackets.length = 0;
    const children = inline(shown, { links: false });
    this.#out.push({ tag: "a", href, target: shown === written ? "" : placeOf(href), children: opened.isImage ? ["Image: ", ...children] : children });
    this.#at = TARGET.lastIndex;
  }

  #angles() {
    IN_ANGLES.lastIndex = this.#at;
    const found = IN_ANGLES.exec(this.#text);
    const href = found === null || !this.#links ? null : safeAddress(found[1]);
    if (href === null) return this.#skip(1);
    this.#out.push({ tag: "a", href, target: "", children: [found[1]] });
    this.#at = IN_ANGLES.lastIndex;
  }

  #bare(mark) {
    if (!this.#links || /\w/.test(this.#text[this.#at - 1] ?? "")) return this.#skip(mark.length);
    BARE.lastIndex = this.#at;
    const [whole] = BARE.exec(this.#text) ?? [mark];
    const written = withoutEnd(whole);
    const href = safeAddress(written);
    // All of it is skipped, so that no part of it is looked at again.
    if (href === null) return this.#skip(whole.length);
    this.#out.push({ tag: "a", href, target: "", children: [written] });
    this.#at += written.length;
  }

  #emphasis(mark) {
    const length = runOf(this.#text, this.#at);
    if (mark === "~" ? length !== 2 : length > 3) return this.#skip(length);
    const { opens, closes } = this.#sides(mark, length);
    this.#at += length;
    let count = length;
    while (closes && count > 0 && this.#close(mark, count)) count -= this.#closed;
    if (count === 0) return;
    if (!opens) return this.#say(mark.repeat(count));
    if (this.#open.length === OPEN_MOST) this.#open.shift();
    const node = { mark, count };
    this.#open.push({ node, at: this.#out.length });
    this.#out.push(node);
  }

  // Tell on which side a mark can stand: after its words it ends them, before them it begins them.
  #sides(mark, length) {
    const before = this.#text[this.#at - 1] ?? " ";
    const after = this.#text[this.#at + length] ?? " ";
    const left = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
    const right = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
    if (mark !== "_") return { opens: left, closes: right };
    return { opens: left && (!right || PUNCTUATION.test(before)), closes: right && (!left || PUNCTUATION.test(after)) };
  }

  #closed = 0;

  /** Close the nearest open mark of this kind; marks that were opened after it stay text. */
  #close(mark, count) {
    const nearest = this.#open.findLastIndex((each) => each.node.mark === mark);
    if (nearest === -1) return false;
    const { node, at } = this.#open[nearest];
    this.#open.length = nearest + 1;
    const tag = mark === "~" ? "del" : node.count >= 2 && count >= 2 ? "strong" : "em";
    const children = this.#out.splice(at + 1).map(settled);
    while (this.#brackets.length > 0 && this.#brackets.at(-1).at >= at) this.#brackets.pop();
    node.count -= MARKS[tag];
    this.#closed = MARKS[tag];
    if (node.count === 0) {
      this.#open.pop();
      this.#out.pop();
    }
    this.#out.push({ tag, children });
    return true;
  }
}

/** Return a node; a mark that was not closed is text. */
function settled(node) {
  return node.mark === undefined ? node : node.mark.repeat(node.count);
}

/** Return where runs of backquotes are, by their length. */
function ticksOf(text) {
  const ticks = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (!ticks.has(run.length)) ticks.set(run.length, { at: [], next: 0 });
    ticks.get(run.length).at.push(index);
  }
  return ticks;
}

function runOf(text, at) {
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** Return an address that a browser may open, null for any other: no scripts, no files, nothing relative. */
export function safeAddress(written) {
  if (written === "" || written.length > ADDRESS_MOST) return null;
  try {
    const address = new URL(written);
    return PROTOCOLS.has(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

/** Return where an address leads, as it is shown beside a label. */
function placeOf(href) {
  const address = new URL(href);
  return address.protocol === "mailto:" ? address.pathname : address.host;
}

/** Return an address without the punctuation of the sentence that it stands in. */
function withoutEnd(written) {
  let end = written.length;
  let unmatched = 0;
  for (const character of written) unmatched += character === "(" ? -1 : character === ")" ? 1 : 0;
  while (end > 0 && (".,;:!?'_~".includes(written[end - 1]) || (written[end - 1] === ")" && unmatched > 0))) {
    unmatched -= written[end - 1] === ")" ? 1 : 0;
    end -= 1;
  }
  return written.slice(0, end);
}
