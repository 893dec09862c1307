// What follows what is written: the search index, the classifier, and every other reader of the feed.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, ask, Refusal, type Shapes } from "../../data/api";
import { capital, plural, span } from "../../data/words";

// Only an owner may read metrics; others see the rest of the page.
export const unlessForbidden = <Answer,>(nothing: Answer) => (error: unknown): Answer => {
  if (error instanceof Refusal && error.status === 403) return nothing;
  throw error;
};

const metricsQuery = queryOptions({
  queryKey: ["health", "metrics"],
  queryFn: ({ signal }) => ask(api.GET("/api/metrics", { signal })).catch(unlessForbidden<{ metrics: Shapes["Metric"][] }>({ metrics: [] })),
});

export function Followers({ health: { index, classifier } }: { health: Shapes["Health"] }) {
  const metrics = useQuery(metricsQuery).data?.metrics ?? [];
  const followers = metrics.filter(({ name }) => name === "followers.lag.events");
  const oldest = classifier.oldestPendingSeconds;
  const rows: [string, string, string][] = [
    ["Search index", index.lagSeconds < 1 ? "up to date" : `${span(index.lagSeconds * 1_000)} behind`, `${index.pending.toLocaleString("en")} to index, ${index.mode === "hybrid" ? "words and meanings" : "words alone"}`],
    ["Filing by topic", classifier.pending === 0 ? "up to date" : `${classifier.pending.toLocaleString("en")} to file`, oldest === null ? "nothing waits" : `the oldest since ${span(oldest * 1_000)}`],
    ...followers.map(({ labels, value }): [string, string, string] => [`Follower: ${capital(labels["follower"] ?? "")}`, value === 0 ? "up to date" : `${plural(value, "event")} behind`, ""]),
  ];
  return (
    <ul>
      {rows.map(([name, state, note]) => (
        <li key={name} className="flex items-baseline justify-between gap-4 border-b border-rule py-2"><span>{name} <span className="note">{note}</span></span><span className="text-sm">{state}</span></li>
      ))}
    </ul>
  );
}
