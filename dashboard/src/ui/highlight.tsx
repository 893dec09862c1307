// Plain text in which the words somebody looked for are marked.

const WORD = /[\p{L}\p{N}]{2,}/gu;

/** Show the part of a text around the first of the words of `query`, with every one of them marked; `most` 0 shows it whole. */
export function Highlight({ text, query, most = 0 }: { text: string; query: string; most?: number }) {
  const words = [...new Set(query.match(WORD) ?? [])].sort((a, b) => b.length - a.length);
  if (words.length === 0) return <>{most > 0 ? cut(text, 0, most) : text}</>;
  const pattern = new RegExp(`(${words.join("|")})`, "giu");
  const first = text.search(pattern);
  const shown = most > 0 ? cut(text, Math.max(0, first), most) : text;
  return <>{shown.split(pattern).map((part, i) => i % 2 === 1 ? <mark key={i} className="rounded-[2px] bg-brass-wash text-brass">{part}</mark> : part)}</>;
}

/** Return a text in one line, without the signs of Markdown: a snippet is not rendered. */
function plain(text: string): string {
  return text.replace(/^\s*(#+|[-*>]|\d+\.)\s+/gm, "").replace(/(\*\*|__|`+)/g, "").replace(/\s+/g, " ").trim();
}

function cut(text: string, at: number, most: number): string {
  const flat = plain(text);
  if (flat.length <= most) return flat;
  const start = at < most * 0.6 ? 0 : Math.min(at - Math.floor(most * 0.3), flat.length - most);
  return `${start > 0 ? "…" : ""}${flat.slice(start, start + most)}${start + most < flat.length ? "…" : ""}`;
}
