// A menu behind a button. Not modal: a modal one would add a style element, which the content policy does not allow.

import { DropdownMenu } from "radix-ui";
import type { ReactElement } from "react";

export type Choice = { label: string; run: () => void; danger?: boolean; disabled?: boolean };

/** `trigger` is one button; `choices` are what it offers. */
export function Menu({ trigger, choices, align = "end" }: { trigger: ReactElement; choices: (Choice | null)[]; align?: "start" | "end" }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align={align} sideOffset={4} className="z-50 min-w-40 rounded-lg border border-rule bg-leaf p-1 text-sm text-ink shadow-leaf">
          {choices.map((choice, i) => choice === null ? <DropdownMenu.Separator key={`rule-${i}`} className="my-1 h-px bg-rule" /> : (
            <DropdownMenu.Item
              key={choice.label}
              disabled={choice.disabled}
              onSelect={choice.run}
              className={`cursor-pointer rounded-md px-2.5 py-1.5 outline-none data-[disabled]:opacity-60 data-[highlighted]:bg-green-wash ${choice.danger ? "text-red" : ""}`}
            >
              {choice.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
