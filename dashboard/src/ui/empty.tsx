// What a list shows while there is nothing in it: why, and how to begin.

import type { ReactNode } from "react";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="max-w-[44rem] py-8">
      <p className="font-serif text-[1.35rem] leading-snug">{title}</p>
      {children && <div className="mt-2 grid justify-items-start gap-3 text-soft">{children}</div>}
    </div>
  );
}
