// What two runs were answered at last, side by side: the text, and the tool calls that were asked for.

import { useQuery } from "@tanstack/react-query";
import type { Receipt } from "../data/api";
import { receiptQuery } from "../data/queries";
import { Markdown } from "./markdown";

type Step = Receipt["steps"][number];
type Item = { type?: string; name?: string; arguments?: string; content?: { text?: string }[] };

export function Answers({ before, after }: { before: string; after: string }) {
  const one = useQuery(receiptQuery(before)).data?.steps.at(-1);
  const other = useQuery(receiptQuery(after)).data?.steps.at(-1);
  if (one === undefined || other === undefined) return null;
  return (
    <>
      <div role="group" aria-label="Answers" className="grid gap-4 md:grid-cols-2">
        <Answer name="Then" step={one} />
        <Answer name="Now" step={other} />
      </div>
      {JSON.stringify(said(one)) === JSON.stringify(said(other)) && <p role="status" className="note">The two answers are the same.</p>}
    </>
  );
}

function Answer({ name, step }: { name: string; step: Step }) {
  const { text, calls } = said(step);
  return (
    <article aria-label={name} className="min-w-0 border-t border-rule pt-2">
      <p className="note"><b className="font-medium text-ink">{name}</b> · {step.model}</p>
      {text !== "" && <Markdown text={text} />}
      {calls.map((call, i) => <pre key={i} tabIndex={0} className="code wrap">{call}</pre>)}
      {text === "" && calls.length === 0 && <p className="note">No answer came.</p>}
    </article>
  );
}

function said(step: Step): { text: string; calls: string[] } {
  const items = (Array.isArray(step.output) ? step.output : []) as Item[];
  return {
    text: items.filter((item) => item.type === "message").flatMap((item) => (item.content ?? []).map((part) => part.text ?? "")).join(""),
    calls: items.filter((item) => item.type === "function_call").map((item) => `${item.name}(${item.arguments ?? ""})`),
  };
}
