// How large each part of a request was, in tokens, as one bar; a click leads to the part.

import { compact } from "../../data/words";
import type { Part, PartName } from "./model";

const LOOKS: Record<PartName, string> = {
  instructions: "bg-soft",
  tools: "bg-edge/60",
  history: "bg-green/55",
  context: "bg-brass-edge",
  message: "bg-green",
  work: "bg-[repeating-linear-gradient(45deg,var(--green)_0_3px,var(--green-wash)_3px_6px)]",
};

type Props = { parts: Part[]; ratio: number; isMeasured: boolean; onPick: (name: PartName) => void };

export function Sizes({ parts, ratio, isMeasured, onPick }: Props) {
  const whole = parts.reduce((sum, part) => sum + part.chars, 0);
  const tokens = (chars: number) => Math.max(1, Math.round(chars / ratio));
  const share = (chars: number) => `${((100 * chars) / Math.max(1, whole)).toFixed(chars / whole < 0.1 ? 1 : 0)} %`;
  return (
    <section aria-label="Size" className="py-4">
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-4">
        <p><span className="font-serif text-2xl">{compact(tokens(whole))}</span> tokens <span className="note">{isMeasured ? "as the gateway counted them in this run" : "about, at four characters each"}</span></p>
        <p className="note">{whole.toLocaleString("en")} characters</p>
      </div>
      <div role="img" aria-label={parts.map((part) => `${part.title} ${tokens(part.chars)} tokens`).join(", ")} className="flex h-7 gap-0.5">
        {parts.map((part) => <span key={part.name} title={`${part.title}: ${tokens(part.chars).toLocaleString("en")} tokens`} className={`min-w-1 rounded-[2px] ${LOOKS[part.name]}`} style={{ flexGrow: part.chars, flexBasis: 0 }} />)}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {parts.map((part) => (
          <li key={part.name}>
            <button type="button" onClick={() => onPick(part.name)} className="flex items-center gap-1.5 rounded hover:underline">
              <span aria-hidden="true" className={`size-2.5 rounded-[2px] ${LOOKS[part.name]}`} />{part.title} <b className="font-semibold">{compact(tokens(part.chars))}</b> <span className="note">{share(part.chars)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
