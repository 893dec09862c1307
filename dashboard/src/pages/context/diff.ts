// What differs between two texts, line by line, and between two steps. Pure functions.

import type { Shapes } from "../../data/api";
import { itemsOf, type Step } from "./model";

// A comparison takes time and room by the product of the lengths.
const CELLS_MAX = 4_000_000;
const AROUND = 2;

type Line = { sign: " " | "+" | "-"; text: string };

function linesCompared(before: string[], after: string[]): Line[] | null {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const one = before.slice(head, before.length - tail);
  const other = after.slice(head, after.length - tail);
  if (one.length * other.length > CELLS_MAX) return null;
  const same = (text: string): Line => ({ sign: " ", text });
  return [...before.slice(0, head).map(same), ...changed(one, other), ...before.slice(before.length - tail).map(same)];
}

/** Return the shortest way from one list of lines to the other, by their longest common subsequence. */
function changed(one: string[], other: string[]): Line[] {
  const width = other.length + 1;
  const common = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] = one[i] === other[j] ? common[at + width + 1]! + 1 : Math.max(common[at + width]!, common[at + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      lines.push({ sign: " ", text: one[i]! });
      i += 1;
      j += 1;
    } else if (i < one.length && (j === other.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push({ sign: "-", text: one[i]! });
      i += 1;
    } else {
      lines.push({ sign: "+", text: other[j]! });
      j += 1;
    }
  }
  return lines;
}

function difference(before: string, after: string): Shapes["Difference"] {
  if (before === after) return { same: true, diff: "" };
  const lines = linesCompared(before.split("\n"), after.split("\n"));
  if (lines === null) return { same: false, diff: "The two are too different to be compared line by line." };
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some((line) => line.sign !== " "));
  const shown = lines.flatMap((line, i) => {
    if (near[i]) return [`${line.sign}${line.text}`];
    return near[i - 1] ? ["@@"] : [];
  });
  return { same: false, diff: shown.join("\n") };
}

const readable = (step: Step): string => itemsOf(step.input).map((item) => `[${item.role}]\n${item.text}`).join("\n");

/** Compare two steps of one run, as the server compares two runs. */
export function compareSteps(before: Step, after: Step): Shapes["Comparison"] {
  const instructions = difference(before.instructions ?? "", after.instructions ?? "");
  const input = difference(readable(before), readable(after));
  const tools = { added: after.tools.filter((name) => !before.tools.includes(name)), removed: before.tools.filter((name) => !after.tools.includes(name)) };
  const [one, other] = [before, after].map((step) => step.context.items.map((item) => item.id)) as [string[], string[]];
  const context = { added: other.filter((id) => !one.includes(id)), removed: one.filter((id) => !other.includes(id)), kept: other.filter((id) => one.includes(id)) };
  return { same: instructions.same && input.same && tools.added.length + tools.removed.length === 0, instructions, input, tools, context };
}
