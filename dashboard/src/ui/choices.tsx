// Ways to narrow a list or to choose one of a few: a search box that waits for a pause, a select, a switch, tabs.

import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon } from "./icon";
import { useShortcuts } from "./keys";

const PAUSE_MS = 200;

/** A search box; `/` puts the focus there. */
export function SearchBox({ name, value, onChange }: { name: string; value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const box = useRef<HTMLInputElement>(null);
  const told = useRef(value);
  useShortcuts([{ keys: "/", does: name, run: () => box.current?.focus() }]);
  useEffect(() => {
    // The address changed by itself: Back, or a link.
    if (value !== told.current) setText(value);
    told.current = value;
  }, [value]);
  useEffect(() => {
    if (text === told.current) return;
    const timer = setTimeout(() => {
      told.current = text;
      onChange(text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, onChange]);
  return (
    <div className="relative min-w-0 grow basis-48 sm:max-w-72">
      <Icon name="search" className="pointer-events-none absolute top-2 left-2 size-4 text-soft" />
      <input ref={box} type="search" aria-label={name} placeholder={name} value={text} onChange={(event) => setText(event.target.value)} className="field pl-8!" />
    </div>
  );
}

type Option = { value: string; label: string };

export function Select({ name, value, options, onChange }: { name: string; value: string; options: Option[]; onChange: (value: string) => void }) {
  return (
    <select aria-label={name} value={value} onChange={(event) => onChange(event.target.value)} className="field w-auto! max-w-[min(100%,16rem)] pr-7!">
      {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
    </select>
  );
}

export function Switch({ label, on, onChange }: { label: ReactNode; on: boolean; onChange: (on: boolean) => void }) {
  const id = useId();
  return (
    <label htmlFor={id} className="inline-flex min-h-8 cursor-pointer items-center gap-2 text-sm whitespace-nowrap text-soft hover:text-ink">
      <input id={id} type="checkbox" checked={on} onChange={(event) => onChange(event.target.checked)} className="size-4 accent-green" />{label}
    </label>
  );
}

export type Tab = { id: string; label: string; count?: number };

/** Tabs that are links: each has the address of the page with `tab` set; the first is the page's own address. */
export function Tabs({ label, tabs, current }: { label: string; tabs: Tab[]; current: string }) {
  const frame = useRef<HTMLElement>(null);
  useEffect(() => {
    // In a narrow window the chosen tab may be out of sight.
    const row = frame.current;
    if (row !== null && row.scrollWidth > row.clientWidth) row.querySelector("[aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [current]);
  return (
    <nav ref={frame} aria-label={label} className="flex min-w-0 gap-x-4 sm:gap-x-5 overflow-x-auto border-b border-rule">
      {tabs.map(({ id, label: words, count }, i) => (
        <Link
          key={id} to="." resetScroll={false} activeOptions={{ exact: true, explicitUndefined: true }} aria-current={id === current ? "page" : undefined}
          // Which names a page's tabs have is checked where its address is read.
          search={(before) => ({ ...before, tab: (i === 0 ? undefined : id) as never })}
          className="-mb-px border-b-2 border-transparent py-2 whitespace-nowrap text-soft no-underline hover:text-ink aria-[current]:border-green aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {words}{count !== undefined && count > 0 && <span className="ml-1.5 text-xs font-normal text-soft">{count.toLocaleString("en")}</span>}
        </Link>
      ))}
    </nav>
  );
}
