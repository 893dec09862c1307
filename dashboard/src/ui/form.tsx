// The parts of a form: a labelled field with its hint and complaint, a choice, a checkbox, and a row of options of which one holds.

import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from "react";

/** `bare` shows the label only to screen readers: for filters, whose first option says what they are. */
type Around = { label: string; hint?: ReactNode; complaint?: string | null; className?: string; bare?: boolean };

type Wiring = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined };

function Labelled({ label, hint, complaint, className = "", bare = false, children }: Around & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId();
  const said = Boolean(complaint ?? hint);
  return (
    <div className={`grid content-start gap-1 ${className}`}>
      <label htmlFor={id} className={bare ? "sr-only" : "text-[0.8125rem] font-medium"}>{label}</label>
      {children({ id, "aria-describedby": said ? `${id}-about` : undefined, "aria-invalid": complaint ? true : undefined })}
      {said && <p id={`${id}-about`} className={complaint ? "complaint" : "note"}>{complaint ?? hint}</p>}
    </div>
  );
}

export function TextField({ label, hint, complaint, className, mono = false, ...rest }: Around & InputHTMLAttributes<HTMLInputElement> & { mono?: boolean }) {
  return (
    <Labelled {...{ label, hint, complaint, className }}>
      {(wiring) => <input spellCheck={!mono} {...rest} {...wiring} className={`field ${mono ? "font-mono text-[0.8125rem]" : ""}`} />}
    </Labelled>
  );
}

export function TextArea({ label, hint, complaint, className, ...rest }: Around & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <Labelled {...{ label, hint, complaint, className }}>{(wiring) => <textarea rows={4} {...rest} {...wiring} className="field min-h-20" />}</Labelled>;
}

export type Option = { value: string; label: string };

export function Choose({ label, hint, complaint, className, bare, options, ...rest }: Around & { options: Option[] } & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Labelled {...{ label, hint, complaint, className, bare }}>
      {(wiring) => (
        <select {...rest} {...wiring} className={`field ${bare ? "border-rule! text-[0.8125rem]! text-soft! pointer-coarse:text-base!" : ""}`}>
          {options.map(({ value, label: word }) => <option key={value} value={value}>{word}</option>)}
        </select>
      )}
    </Labelled>
  );
}

export function Check({ label, hint, className = "", ...rest }: { label: string; hint?: string; className?: string } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className={`flex items-start gap-2 ${className}`}>
      <input type="checkbox" {...rest} className="mt-1 accent-green" />
      <span>{label}{hint && <span className="note block">{hint}</span>}</span>
    </label>
  );
}

/** One of a few options, as buttons in a row; the chosen one is pressed. */
export function Options({ name, options, value, onChange }: { name: string; options: Option[]; value: string; onChange: (value: string) => void }) {
  return (
    <div role="group" aria-label={name} className="inline-flex w-fit max-w-full overflow-x-auto rounded-md border border-rule bg-leaf text-[0.8125rem]">
      {options.map((option) => (
        <button
          key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}
          className="min-h-8 shrink-0 cursor-pointer border-r border-rule px-3 text-soft last:border-r-0 hover:text-ink aria-pressed:bg-green-wash aria-pressed:font-semibold aria-pressed:text-ink pointer-coarse:min-h-10"
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
