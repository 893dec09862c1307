// A panel at the side that shows one thing of a list without leaving the list. Whether it is open is part of the address.

import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "./button";
import { Icon } from "./icon";
import { useShortcuts } from "./keys";

type Props = {
  title: string;
  onClose: () => void;
  /** A link or buttons beside the title. */
  actions?: ReactNode;
  children: ReactNode;
};

export function Peek({ title, onClose, actions, children }: Props) {
  const panel = useRef<HTMLElement>(null);
  const opener = useRef(document.activeElement);
  useEffect(() => {
    const from = opener.current;
    // A form in it may have taken the focus.
    if (!panel.current?.contains(document.activeElement)) panel.current?.focus({ preventScroll: true });
    // The row that opened it may be gone by now: what was done goes away.
    return () => {
      if (from instanceof HTMLElement && from.isConnected) from.focus({ preventScroll: true });
    };
  }, []);
  useShortcuts([{ keys: "Escape", run: onClose }]);
  return (
    <aside
      ref={panel}
      data-peek=""
      tabIndex={-1}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
      className="leaf fixed inset-x-0 top-14 bottom-0 z-30 flex flex-col outline-none sm:top-3 sm:right-3 sm:bottom-3 sm:left-auto sm:w-[min(34rem,calc(100vw-1.5rem))]"
    >
      <header className="flex items-start justify-between gap-3 border-b border-rule px-5 py-3">
        <h2 className="min-w-0 text-xl">{title}</h2>
        <div className="flex items-center gap-1">
          {actions}
          <Button weight="bare" aria-label="Close panel" onClick={onClose}><Icon name="close" /></Button>
        </div>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
    </aside>
  );
}
