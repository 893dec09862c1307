// States of sessions, runs and tasks: a sign and a word, never a colour alone.

import { capital } from "../data/words";

type Tone = "green" | "brass" | "red" | "soft";

const TONES: Record<string, Tone> = {
  busy: "green", running: "green", in_progress: "green", working: "green", active: "green", live: "green", ok: "green",
  waiting: "brass", review: "brass", degraded: "brass", undelivered: "brass", stopping: "brass", drafting: "brass",
  failed: "red", blocked: "red", offline: "red",
};
const LOOKS: Record<Tone, string> = { green: "text-green font-semibold", brass: "text-brass font-semibold", red: "text-red font-semibold", soft: "text-soft" };
const SIGNS: Record<Tone, string> = {
  green: "rounded-full border-green bg-green",
  brass: "rounded-full border-brass-edge bg-[linear-gradient(90deg,var(--brass-edge)_50%,transparent_50%)]",
  red: "rounded-[2px] border-red-edge bg-red-edge",
  soft: "rounded-full border-edge",
};

/** Show a state, as the API names it, as a word a person reads; `label` replaces the word. */
export function StateBadge({ state, label, className = "" }: { state: string; label?: string; className?: string }) {
  const tone = TONES[state] ?? "soft";
  const ended = state === "closed" || state === "archived" || state === "cancelled";
  return (
    <span data-state={state} className={`inline-flex items-center gap-2 text-[0.8125rem] whitespace-nowrap ${LOOKS[tone]} ${className}`}>
      <span aria-hidden="true" className={`size-2.5 shrink-0 border-[1.5px] ${SIGNS[tone]} ${ended ? "rounded-[1px]! border-dotted" : ""}`} />
      {label ?? capital(state.replaceAll("_", " "))}
    </span>
  );
}
