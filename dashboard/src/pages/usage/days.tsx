// Usage day by day, as small plots beside each other.

import { useMemo } from "react";
import { type Line, Plot } from "../../ui/plot";
import type { UsageSearch } from "./address";
import { DAY_MS, DAYS_DEFAULT, type Row, since, type Used, usedOf } from "./queries";

const NONE: Used = { runs: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, seconds: 0 };

export function Days({ rows, search }: { rows: Row[]; search: UsageSearch }) {
  const start = since(search);
  const count = Number(search.days ?? DAYS_DEFAULT);
  const { times, tokens, output, runs, cost } = useMemo(() => {
    const byDay = new Map(rows.map((row) => [row.day, usedOf(row)]));
    const moments = Array.from({ length: count }, (_, i) => start + i * DAY_MS);
    const used = moments.map((at) => byDay.get(new Date(at).toISOString().slice(0, 10)) ?? NONE);
    const line = (name: string, tone: Line["tone"], value: (day: Used) => number | null): Line => ({ name, tone, values: used.map(value) });
    return {
      times: moments,
      // Cached ones are a part of all that went in, so they stand in front of them.
      tokens: [line("Input", "green", (day) => day.inputTokens), line("Cached", "brass", (day) => day.cachedTokens)],
      output: [line("Output", "green", (day) => day.outputTokens)],
      runs: [line("Runs", "green", (day) => day.runs)],
      cost: [line("US dollars", "green", (day) => day.costUsd)],
    };
  }, [rows, start, count]);
  return (
    <section aria-label="Day by day" className="grid gap-x-8 gap-y-5 border-b border-rule py-4 md:grid-cols-2">
      <Plot bars name="Input tokens a day, the cached ones in amber" times={times} lines={tokens} />
      <Plot bars name="Output tokens a day" times={times} lines={output} />
      <Plot bars name="Runs a day" times={times} lines={runs} />
      <Plot bars name="Cost a day" unit="$" times={times} lines={cost} />
    </section>
  );
}
