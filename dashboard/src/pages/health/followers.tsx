// What follows what is written: the search index, the classifier, and every other reader of the feed.

import type { Shapes } from "../../data/api";
import { capital, plural, span } from "../../data/words";

export function Followers({ health: { index, classifier, followers } }: { health: Shapes["Health"] }) {
  const oldest = classifier.oldestPendingSeconds;
  const rows: [string, string, string][] = [
    ["Search index", index.lagSeconds < 1 ? "up to date" : `${span(index.lagSeconds * 1_000)} behind`, `${index.pending.toLocaleString("en")} to index, ${index.mode === "hybrid" ? "words and meanings" : "words alone"}`],
    ["Filing by topic", !classifier.enabled ? "off" : classifier.pending === 0 ? "up to date" : `${classifier.pending.toLocaleString("en")} to file`, !classifier.enabled ? "classifier.mode of the settings" : oldest === null ? "nothing waits" : `the oldest since ${span(oldest * 1_000)}`],
    ...followers.map(({ name, behind }): [string, string, string] => [`Follower: ${capital(name)}`, behind === 0 ? "up to date" : `${plural(behind, "event")} behind`, ""]),
  ];
  return (
    <ul>
      {rows.map(([name, state, note]) => (
        <li key={name} className="flex items-baseline justify-between gap-4 border-b border-rule py-2"><span>{name} <span className="note">{note}</span></span><span className="text-sm">{state}</span></li>
      ))}
    </ul>
  );
}
