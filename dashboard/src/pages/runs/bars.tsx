// Spans of time as bars: where each begins and ends within a stretch that all rows share.

export type Tone = "queue" | "model" | "tool" | "failed" | "waiting" | "running" | "cancelled";

export type Span = { from: number; to: number; tone: Tone; name: string };

export type Stretch = { from: number; to: number };

const LOOKS: Record<Tone, string> = {
  queue: "border border-dashed border-edge bg-transparent",
  model: "bg-green",
  tool: "bg-brass-edge",
  failed: "bg-red-edge",
  waiting: "border border-brass-edge bg-brass-wash",
  running: "bg-green animate-breathe",
  cancelled: "bg-edge",
};

const PERCENT = 100;

export function Bars({ spans, stretch }: { spans: Span[]; stretch: Stretch }) {
  const whole = Math.max(1, stretch.to - stretch.from);
  const at = (time: number) => (PERCENT * (Math.min(Math.max(time, stretch.from), stretch.to) - stretch.from)) / whole;
  return (
    <div role="img" aria-label={spans.map((span) => span.name).join(", ")} className="relative h-4 overflow-hidden">
      {spans.filter((span) => span.to >= stretch.from && span.from <= stretch.to).map((span) => (
        <span
          key={`${span.tone}-${span.from}-${span.name}`} title={span.name}
          className={`absolute inset-y-0.5 min-w-[3px] rounded-[2px] ${LOOKS[span.tone]}`}
          style={{ left: `min(${at(span.from)}%, calc(100% - 3px))`, width: `${at(span.to) - at(span.from)}%` }}
        />
      ))}
    </div>
  );
}

export function Legend({ tones }: { tones: [Tone, string][] }) {
  return (
    <ul aria-hidden="true" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {tones.map(([tone, words]) => <li key={tone} className="flex items-center gap-1.5"><span className={`h-2.5 w-4 rounded-[2px] ${LOOKS[tone]}`} />{words}</li>)}
    </ul>
  );
}

/** The ends of a stretch and what lies between them, by words that the page chooses. */
export function Axis({ stretch, words, parts = 4 }: { stretch: Stretch; words: (time: number) => string; parts?: number }) {
  const each = (stretch.to - stretch.from) / parts;
  return (
    <div aria-hidden="true" className="flex justify-between text-[0.6875rem] text-soft">
      {Array.from({ length: parts + 1 }, (_, i) => <span key={i} className={i % 2 === 1 ? "max-sm:hidden" : ""}>{words(stretch.from + i * each)}</span>)}
    </div>
  );
}
