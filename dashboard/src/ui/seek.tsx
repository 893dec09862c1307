// A box to look for something: what is typed is taken over after a short pause, or at once on Enter.

import { type Ref, useEffect, useState } from "react";
import { Icon } from "./icon";

const PAUSE_MS = 200;

type Props = { name: string; value: string; onSeek: (text: string) => void; placeholder?: string; autoFocus?: boolean; large?: boolean; ref?: Ref<HTMLInputElement> };

export function Seek({ name, value, onSeek, placeholder, autoFocus, large = false, ref }: Props) {
  const [text, setText] = useState(value);
  // The address may change by itself: back, a link.
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onSeek(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onSeek]);
  return (
    <search className="relative block w-full">
      <Icon name="search" className={`pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-soft ${large ? "size-5" : "size-4"}`} />
      <input
        ref={ref} type="search" aria-label={name} placeholder={placeholder ?? name} value={text} autoFocus={autoFocus} autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && onSeek(text)}
        className={`field [&::-webkit-search-cancel-button]:hidden ${large ? "h-11 pl-10! text-base" : "pl-9!"}`}
      />
    </search>
  );
}
