// Small facts in a row: a name above each value.

import type { ReactNode } from "react";

export type Fact = { name: string; value: ReactNode; note?: string } | null | false;

export function Facts({ label, facts }: { label: string; facts: Fact[] }) {
  return (
    <dl aria-label={label} className="flex flex-wrap gap-x-8 gap-y-2.5 border-b border-rule py-3">
      {facts.map((fact) => fact && (
        <div key={fact.name} className="min-w-0">
          <dt className="text-xs text-soft">{fact.name}</dt>
          <dd className="min-w-0 truncate" title={fact.note}>{fact.value}</dd>
        </div>
      ))}
    </dl>
  );
}
