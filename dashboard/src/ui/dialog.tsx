// A dialog over the page. Radix keeps the focus inside and gives it back; Escape and a click beside it close it.
// Its own overlay would add a style element, which the content policy does not allow, so the backdrop is ours.

import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Button } from "./button";
import { Icon } from "./icon";

type Props = {
  title: string;
  open: boolean;
  onClose: () => void;
  /** A line under the title that says what the dialog is for. */
  about?: string;
  /** Show the title only to screen readers. */
  bare?: boolean;
  wide?: boolean;
  children: ReactNode;
};

export function Dialog({ title, open, onClose, about, bare = false, wide = false, children }: Props) {
  const opener = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (open) opener.current = document.activeElement;
  }, [open]);
  return (
    <Radix.Root open={open} onOpenChange={(now) => now || onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 grid items-start justify-items-center overflow-y-auto bg-shade p-3 pt-[max(0.75rem,8dvh)]">
          <Radix.Content
            className={`leaf grid max-h-[84dvh] w-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)] ${wide ? "max-w-[50rem]" : "max-w-[34rem]"}`}
            onCloseAutoFocus={(event) => {
              // Radix gives the focus back to a trigger of its own, which ours are not.
              event.preventDefault();
              if (opener.current instanceof HTMLElement && opener.current.isConnected) opener.current.focus();
            }}
            {...(about === undefined ? { "aria-describedby": undefined } : {})}
          >
            <div className={bare ? "sr-only" : "flex items-start justify-between gap-4 border-b border-rule px-5 py-3.5"}>
              <div>
                <Radix.Title className="text-[1.3rem]">{title}</Radix.Title>
                {about !== undefined && <Radix.Description className="note mt-0.5">{about}</Radix.Description>}
              </div>
              <Radix.Close asChild><Button weight="bare" aria-label="Close"><Icon name="close" /></Button></Radix.Close>
            </div>
            <div className={bare ? "min-h-0" : "min-h-0 overflow-y-auto px-5 py-4"}>{children}</div>
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  );
}
