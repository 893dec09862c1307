// A step of a receipt, taken apart: which part of what was sent is what, and how large. Pure functions.

import type { Receipt, Shapes } from "../../data/api";

export type Step = Receipt["steps"][number];
export type Item = { role: string; text: string };
export type PartName = "instructions" | "tools" | "history" | "context" | "message" | "work";
export type Part = { name: PartName; title: string; chars: number };

const CONTEXT_BEGINS = "[CARREL_CONTEXT_BEGIN]";
// Where a run tells how many tokens it took, that decides; else so many characters are taken for one.
const CHARS_PER_TOKEN = 4;

export const TITLES: Record<PartName, string> = {
  instructions: "Instructions", tools: "Tools", history: "Earlier messages", context: "Context block", message: "New message", work: "Calls and results",
};

/** Return the input as a list of role and text, whether it was sent as a string or as items. */
export function itemsOf(input: unknown): Item[] {
  if (input === null || input === undefined) return [];
  if (typeof input === "string") return [{ role: "user", text: input }];
  if (!Array.isArray(input)) return [{ role: "input", text: JSON.stringify(input, null, 2) }];
  return input.map((item: unknown) => {
    const fields = (typeof item === "object" && item !== null ? item : {}) as Record<string, unknown>;
    return { role: roleOf(fields), text: textOf(item, fields) };
  });
}

const ROLES: Record<string, string> = { function_call: "tool call", function_call_output: "tool result", developer: "context" };

function roleOf(fields: Record<string, unknown>): string {
  const role = String(fields["role"] ?? fields["type"] ?? "item");
  return ROLES[role] ?? role;
}

function textOf(item: unknown, fields: Record<string, unknown>): string {
  if (typeof item === "string") return item;
  const { type, content, output } = fields;
  if (type === "function_call") return `${String(fields["name"])}(${String(fields["arguments"] ?? "")})`;
  if (type === "function_call_output") return typeof output === "string" ? output : JSON.stringify(output);
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((each: { text?: string }) => each.text ?? JSON.stringify(each)).join("\n");
  return JSON.stringify(item, null, 2);
}

/** Return which part of the request each item of the input is. */
export function partsOfInput(items: Item[]): PartName[] {
  const newest = items.findLastIndex((item) => item.role === "user");
  return items.map((item, i) => {
    if (item.text.startsWith(CONTEXT_BEGINS)) return "context";
    if (i === newest) return "message";
    return i < newest ? "history" : "work";
  });
}

/** Return the tools as they were sent: each with the length of its description and schema. */
export function toolsSent(step: Step): { name: string; chars: number; schema: string }[] {
  const sent = toolsInBody(step.body);
  return step.tools.map((name) => {
    const found = sent.find((tool) => nameOf(tool) === name);
    const schema = found === undefined ? "" : JSON.stringify(found, null, 2);
    return { name, schema, chars: found === undefined ? name.length : JSON.stringify(found).length };
  });
}

function toolsInBody(body: string | undefined): Record<string, unknown>[] {
  try {
    const tools = (JSON.parse(body ?? "") as { tools?: unknown }).tools;
    return Array.isArray(tools) ? tools : [];
  } catch {
    return [];
  }
}

function nameOf(tool: Record<string, unknown>): unknown {
  // Chat completions wrap each tool once more.
  const wrapped = tool["function"];
  return tool["name"] ?? (typeof wrapped === "object" && wrapped !== null ? (wrapped as { name?: unknown }).name : undefined);
}

/** Return the parts of a step in the order of the request, those that are empty left out. */
export function partsOf(step: Step): Part[] {
  const items = itemsOf(step.input);
  const names = partsOfInput(items);
  const sizes: Record<PartName, number> = { instructions: step.instructions?.length ?? 0, tools: 0, history: 0, context: 0, message: 0, work: 0 };
  sizes.tools = toolsSent(step).reduce((sum, tool) => sum + tool.chars, 0);
  items.forEach((item, i) => {
    sizes[names[i] ?? "history"] += item.text.length;
  });
  return (Object.keys(sizes) as PartName[]).filter((name) => sizes[name] > 0).map((name) => ({ name, title: TITLES[name], chars: sizes[name] }));
}

/** Return how many characters were one token in this run, and whether that was measured. */
export function charsPerToken(steps: Step[], inputTokens: number): { ratio: number; isMeasured: boolean } {
  const answered = steps.filter((step) => step.output !== null && step.output !== undefined);
  const chars = answered.flatMap(partsOf).reduce((sum, part) => sum + part.chars, 0);
  const ratio = chars / Math.max(1, inputTokens);
  // A gateway that counts otherwise would make every figure wrong.
  return inputTokens > 0 && ratio > 1 && ratio < 12 ? { ratio, isMeasured: true } : { ratio: CHARS_PER_TOKEN, isMeasured: false };
}

export type Recalled = Shapes["ShownItem"] & { text: string };
type Explained = { section: string; id: string; kind: string; scope: string; source: string; reason: string; chars: number; score?: number | null };

/** Return the explained lines of a block with their texts: both have the same order within a section. */
export function linesOf(block: string, items: Explained[]): Recalled[] {
  const texts = new Map<string, string[]>();
  let section: string[] = [];
  const known = new Set(items.map((item) => item.section));
  for (const line of block.split("\n")) {
    if (known.has(line)) {
      section = texts.get(line) ?? [];
      texts.set(line, section);
    } else if (line.startsWith("- ")) section.push(line.slice(2));
    else if (section.length > 0) section[section.length - 1] += `\n${line}`;
  }
  // A section of one line may have it behind its name.
  const inline = block.split("\n");
  return items.map((item) => ({
    ...item, score: item.score ?? null,
    text: texts.get(item.section)?.shift() ?? inline.find((line) => line.startsWith(item.section))?.slice(item.section.length).trim() ?? "",
  }));
}

export const sectionName = (section: string): string => section.replace(/:$/, "").replace(/ \(newest last\)/, "");
