// An id or another text for programs, small, with a button that copies it.

import { useState } from "react";
import { Button } from "./button";
import { Icon } from "./icon";

const COPIED_MS = 1_500;

/** `what` says what is copied, for the button's name. */
export function Ident({ text, what = "id" }: { text: string; what?: string }) {
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1 align-middle">
      <code className="min-w-0 truncate text-xs text-soft" title={text}>{text}</code>
      <Copy text={text} name={`Copy ${what}`} />
    </span>
  );
}

export function Copy({ text, name, label }: { text: string; name: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard?.writeText(text).then(() => {
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  });
  return (
    <Button weight={label ? "quiet" : "bare"} small aria-label={copied ? "Copied" : name} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} className="size-3.5" />{label && (copied ? "Copied" : label)}
    </Button>
  );
}
