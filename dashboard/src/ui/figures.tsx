// A few figures side by side, each with its caption.

import type { ReactNode } from "react";

export type Figure = { name: string; value: ReactNode; note?: ReactNode };

export function Figures({ figures }: { figures: Figure[] }) {
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-4 border-b border-rule py-4 sm:grid-cols-3 lg:flex lg:flex-wrap lg:gap-x-12">
      {figures.map(({ name, value, note }) => (
        <div key={name} className="min-w-0">
          <dt className="note">{name}</dt>
          <dd className="font-serif text-[1.6rem] leading-tight tabular-nums">{value}</dd>
          {note && <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
