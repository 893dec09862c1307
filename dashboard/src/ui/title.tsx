// The heading of a page: its h1, the window's title, and where the focus goes after navigation.

import { type ReactNode, useEffect, useRef } from "react";

const LARGE = "text-[1.75rem] tracking-[-0.01em] lg:text-[2.1rem]";

let first = true;

type Props = {
  /** The page's name, or the title of the one thing it shows. */
  name: string;
  /** The one thing of the page's kind that it shows; its title is then the larger heading. */
  subject?: string;
  /** What stands in the window's title before the name, such as how many things wait. */
  count?: number;
  /** Under the heading: facts, a sentence. */
  children?: ReactNode;
  /** At the end of the line: buttons, filters. */
  actions?: ReactNode;
  /** Leave the focus to the page, which puts it where one types. */
  keepFocus?: boolean;
};

export function Title({ name, subject, count = 0, children, actions, keepFocus = false }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${subject ?? name} · Carrel`;
  }, [name, subject, count]);
  useEffect(() => {
    // On the first page the first Tab should reach the skip link.
    if (!first && !keepFocus) heading.current?.focus({ preventScroll: true });
    first = false;
  }, [keepFocus]);
  return (
    <header className="flex flex-wrap items-end justify-between gap-x-8 gap-y-3 border-b border-ink pt-6 pb-3 lg:pt-8">
      <div className="min-w-0">
        <h1 ref={heading} tabIndex={-1} className={subject === undefined ? LARGE : "text-[0.9375rem]! text-soft"}>{name}</h1>
        {subject !== undefined && <h2 className={LARGE}>{subject}</h2>}
        {children}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
