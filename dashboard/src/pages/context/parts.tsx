// The parts of a request as they were sent, each folded until it is wanted.

import type { ReactNode } from "react";
import { compact, plural } from "../../data/words";
import { Copy } from "../../ui/ident";
import { Icon } from "../../ui/icon";
import { itemsOf, type Item, type PartName, partsOfInput, type Step, TITLES, toolsSent } from "./model";

export function Fold({ id, title, note, open = false, children }: { id?: string; title: string; note?: ReactNode; open?: boolean; children: ReactNode }) {
  return (
    <details id={id} open={open} className="group border-t border-rule">
      <summary className="flex items-baseline gap-3 py-2">
        <Icon name="right" className="size-3.5 self-center text-soft transition-transform group-open:rotate-90" />
        <span className="shrink-0 font-serif text-lg">{title}</span><span className="note ml-auto text-right">{note}</span>
      </summary>
      <div className="min-w-0 pb-4 sm:pl-6">{children}</div>
    </details>
  );
}

/** Where a part of the request is on the page. */
export const placeOf = (name: PartName): string => (name === "instructions" || name === "tools" || name === "context" ? `part-${name}` : "part-input");

export function Instructions({ step }: { step: Step }) {
  if (!step.instructions) return <Fold id={placeOf("instructions")} title="Instructions" note="none were sent"><p className="note">This kind of gateway has no field for them, or none are set.</p></Fold>;
  return (
    <Fold id={placeOf("instructions")} title="Instructions" note={`${step.instructionsVersion} · ${step.instructionsSha256.slice(0, 12)}`}>
      <Block text={step.instructions} what="instructions" />
    </Fold>
  );
}

export function Input({ step }: { step: Step }) {
  const items = itemsOf(step.input);
  const names = partsOfInput(items);
  return (
    <Fold id="part-input" title="Input" note={plural(items.length, "item")}>
      <ol className="grid gap-3">{items.map((item, i) => <InputItem key={i} item={item} part={names[i] ?? "history"} />)}</ol>
    </Fold>
  );
}

function InputItem({ item, part }: { item: Item; part: PartName }) {
  return (
    <li className="min-w-0">
      <p className="note flex gap-3"><span className="agent">{item.role}</span>{TITLES[part]}</p>
      <pre tabIndex={0} className="code wrap max-h-80 overflow-y-auto">{item.text}</pre>
    </li>
  );
}

export function ToolsSent({ step, ratio }: { step: Step; ratio: number }) {
  const tools = toolsSent(step).sort((one, other) => other.chars - one.chars);
  return (
    <Fold id={placeOf("tools")} title="Tools" note={plural(tools.length, "tool")}>
      {tools.length === 0 && <p className="note">None were offered in this step.</p>}
      <ul className="border-t border-rule">
        {tools.map((tool) => (
          <li key={tool.name} className="border-b border-rule">
            <details>
              <summary className="flex items-baseline justify-between gap-3 py-1"><code>{tool.name}</code><span className="note">{compact(Math.round(tool.chars / ratio))} tokens</span></summary>
              <pre tabIndex={0} className="code wrap mb-2">{tool.schema || "Its schema is not in the stored request."}</pre>
            </details>
          </li>
        ))}
      </ul>
    </Fold>
  );
}

export function Output({ step }: { step: Step }) {
  const items = itemsOf(step.output);
  return (
    <Fold title="Output" note={items.length === 0 ? "no answer came" : plural(items.length, "item")}>
      <ol className="grid gap-3">{items.map((item, i) => <li key={i}><p className="agent">{item.role}</p><pre tabIndex={0} className="code wrap">{item.text}</pre></li>)}</ol>
    </Fold>
  );
}

export function Body({ step }: { step: Step }) {
  if (!step.body) return null;
  return (
    <Fold title="The exact request" note={<>sha256 <code>{step.bodySha256.slice(0, 12)}</code></>}>
      <Block text={step.body} what="request" />
    </Fold>
  );
}

export function Block({ text, what }: { text: string; what: string }) {
  return (
    <div className="relative">
      <pre tabIndex={0} className="code wrap max-h-[32rem] overflow-y-auto">{text}</pre>
      <span className="absolute top-1.5 right-3"><Copy text={text} name={`Copy ${what}`} label="Copy" /></span>
    </div>
  );
}
