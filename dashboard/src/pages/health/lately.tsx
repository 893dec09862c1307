// Small plots of the last hours. The server keeps one point a minute; they are read again when something happens after one.

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask, Refusal, type Shapes } from "../../data/api";
import { useEvents } from "../../data/feed";
import { Loaded } from "../../ui/failure";
import { Options } from "../../ui/form";
import { type Line, Plot } from "../../ui/plot";
import { SkeletonRows } from "../../ui/skeleton";
import { type HealthSearch, SPANS } from "./address";

type Series = Shapes["Series"];

const NAMES = ["runs.running", "runs.queued", "runs.ended.count", "runs.dead_letter.count", "followers.lag.events", "classifier.pending", "http.requests.count"];
const POINT_MS = 60_000;
// As many as a small plot can show.
const DRAWN_MOST = 144;
const LABELS: Record<(typeof SPANS)[number], string> = { 60: "1 hour", 360: "6 hours", 1440: "1 day" };

// Only an owner may read metrics; others see the rest of the page.
function nothingIfForbidden(error: unknown): { series: Series[] } {
  if (error instanceof Refusal && error.status === 403) return { series: [] };
  throw error;
}

const historyQuery = (minutes: number) => queryOptions({
  queryKey: ["history", minutes],
  async queryFn({ signal }) {
    const read = ask(api.GET("/api/metrics/history", { params: { query: { names: NAMES.join(","), minutes } }, signal }));
    // The client's types do not keep the pairs of points.
    return (await read.catch(nothingIfForbidden)) as { series: Series[] };
  },
  placeholderData: keepPreviousData,
  staleTime: POINT_MS,
});

export function Lately({ minutes, onChange }: { minutes: (typeof SPANS)[number]; onChange: (minutes: HealthSearch["minutes"]) => void }) {
  const history = useQuery(historyQuery(Number(minutes)));
  useEvents(() => {
    if (Date.now() - history.dataUpdatedAt > POINT_MS) void history.refetch({ cancelRefetch: false });
  });
  return (
    <section aria-label="Lately" className="py-4">
      <div className="flex flex-wrap items-center justify-between gap-3 border-b border-rule pb-2">
        <h2 className="text-xl">Lately</h2>
        <Options name="How far back" value={minutes} onChange={(next) => onChange(SPANS.find((each) => each === next))} options={SPANS.map((value) => ({ value, label: LABELS[value] }))} />
      </div>
      <Loaded query={history} waiting={<SkeletonRows count={4} />}>{({ series }) => <Plots series={series} />}</Loaded>
    </section>
  );
}

function Plots({ series }: { series: Series[] }) {
  const drawn = useMemo(() => {
    const all = [...new Set(series.flatMap(({ points }) => points.map(([at]) => Date.parse(at ?? ""))))].sort((a, b) => a - b);
    const every = Math.ceil(all.length / DRAWN_MOST);
    const times = all.filter((_, i) => (all.length - 1 - i) % every === 0);
    const sum = (name: string) => summed(series.filter((each) => each.name === name), times);
    const line = (name: string, tone: Line["tone"], values: (number | null)[]): Line => ({ name, tone, values });
    return {
      times,
      runs: [line("At work", "green", sum("runs.running")), line("Queued", "brass", sum("runs.queued"))],
      ended: [line("Ended", "green", pace(sum("runs.ended.count"), times)), line("Given up", "red", pace(sum("runs.dead_letter.count"), times))],
      behind: [line("Events to follow", "green", sum("followers.lag.events")), line("Entries to file", "brass", sum("classifier.pending"))],
      requests: [line("Requests", "green", pace(sum("http.requests.count"), times))],
    };
  }, [series]);
  if (drawn.times.length < 3) return <p className="note py-4">Plots begin some minutes after the server's start. Only owners see them.</p>;
  return (
    <div className="grid gap-x-8 gap-y-5 py-3 sm:grid-cols-2">
      <Plot name="Runs at work, and queued in amber" times={drawn.times} lines={drawn.runs} />
      <Plot name="Runs ended a minute, given up in red" times={drawn.times} lines={drawn.ended} />
      <Plot name="Events to follow, and entries to file in amber" times={drawn.times} lines={drawn.behind} />
      <Plot name="Requests a minute" times={drawn.times} lines={drawn.requests} />
    </div>
  );
}

/** Add up the series of one name, whatever their labels, at each time; a series without a point there adds nothing. */
function summed(series: Series[], times: number[]): number[] {
  const at = new Map(times.map((time, i) => [time, i]));
  const sums = times.map(() => 0);
  for (const { points } of series) {
    for (const [time, value] of points) {
      const i = at.get(Date.parse(time ?? ""));
      if (i !== undefined) sums[i] = (sums[i] ?? 0) + value;
    }
  }
  return sums;
}

/** Return how much a counter grew a minute before each time; a restart begins it again. */
function pace(values: number[], times: number[]): (number | null)[] {
  return values.map((value, i) => {
    const before = times[i - 1];
    return before === undefined ? null : (Math.max(0, value - (values[i - 1] ?? 0)) * POINT_MS) / ((times[i] ?? before) - before);
  });
}
