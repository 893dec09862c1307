// An id or another text that one may want elsewhere, with a button that copies it.

import { useState } from "react";
import { Button } from "./button";
import { Icon } from "./icon";

const COPIED_MS = 1_500;

type Props = {
  text: string;
  /** What is copied, for the name of the button: "run id". */
  what: string;
  /** Words on the button; without them it is a sign alone. */
  label?: string;
};

export function Copy({ text, what, label }: Props) {
  const [copied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard?.writeText(text).then(() => {
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  });
  return (
    <Button weight={label ? "quiet" : "bare"} small onClick={copy} aria-label={`Copy ${what}`} className={label ? "" : "min-h-0! min-w-0! p-0.5!"}>
      <Icon name={copied ? "check" : "copy"} className="size-3.5" />{label && (copied ? "Copied" : label)}
    </Button>
  );
}

/** An id in small type, cut to the width there is, and copied whole. */
export function Id({ value, what }: { value: string; what: string }) {
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-0.5 align-bottom">
      <code className="min-w-0 truncate text-[0.75rem] text-soft" title={value}>{value}</code><Copy text={value} what={what} />
    </span>
  );
}
