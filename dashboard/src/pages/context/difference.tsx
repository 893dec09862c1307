// What differs between two requests: instructions, input, lines of the context, tools.

import type { Shapes } from "../../data/api";

type Comparison = Shapes["Comparison"];

/** `texts` are those of the context lines, by their ids. */
export function Differences({ comparison, texts }: { comparison: Comparison; texts: ReadonlyMap<string, string> }) {
  const { instructions, input, context, tools } = comparison;
  const lines = (context["added"]?.length ?? 0) + (context["removed"]?.length ?? 0);
  const named = (tools["added"]?.length ?? 0) + (tools["removed"]?.length ?? 0);
  if (comparison.same && lines === 0) return <p className="py-2">The same was sent.</p>;
  return (
    <div className="grid gap-3 py-2">
      <Text name="Instructions" difference={instructions} />
      <Text name="Input" difference={input} />
      <Names name="Context lines" same={lines === 0} added={context["added"]?.map((id) => texts.get(id) || id)} removed={context["removed"]?.map((id) => texts.get(id) || id)} />
      <Names name="Tools" same={named === 0} added={tools["added"]} removed={tools["removed"]} />
    </div>
  );
}

function Heading({ name, same }: { name: string; same: boolean }) {
  return <h4 className="text-sm font-semibold">{name} {same && <span className="font-normal text-soft">the same</span>}</h4>;
}

const LOOKS: Record<string, string> = { "+": "bg-green-wash text-green", "-": "bg-red-wash text-red", "@": "text-soft" };

function Text({ name, difference }: { name: string; difference: Shapes["Difference"] }) {
  const lines = difference.diff.split("\n").filter((line) => !line.startsWith("---") && !line.startsWith("+++"));
  return (
    <div className="min-w-0">
      <Heading name={name} same={difference.same} />
      {!difference.same && (
        <pre tabIndex={0} aria-label={`Difference of ${name.toLowerCase()}`} className="code wrap mt-1 max-h-96 overflow-y-auto">
          {lines.map((line, i) => <span key={i} className={`block ${LOOKS[line.charAt(0)] ?? ""}`}>{line.startsWith("@@") ? "⋯" : line || " "}</span>)}
        </pre>
      )}
    </div>
  );
}

function Names({ name, same, added = [], removed = [] }: { name: string; same: boolean; added?: string[]; removed?: string[] }) {
  return (
    <div>
      <Heading name={name} same={same} />
      <ul className="mt-1 flex flex-wrap gap-1.5 font-mono text-[0.8125rem]">
        {added.map((each) => <li key={each} className={`rounded px-1.5 ${LOOKS["+"]}`}>+ {each}</li>)}
        {removed.map((each) => <li key={each} className={`rounded px-1.5 ${LOOKS["-"]}`}>- {each}</li>)}
      </ul>
    </div>
  );
}
