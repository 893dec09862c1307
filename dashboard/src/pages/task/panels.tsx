// The long parts of a task: its description and digest, then thread, work and activity as tabs.

import { useQuery } from "@tanstack/react-query";
import { Tabs } from "radix-ui";
import type { Task } from "../../data/api";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Loaded } from "../../ui/failure";
import { Markdown } from "../../ui/markdown";
import { tabOf, TABS } from "./address";
import { activitiesQuery } from "./data";
import { Thread } from "./thread";
import { Work } from "./work";

export function Description({ task }: { task: Task }) {
  return (
    <>
      {task.description && <Markdown text={task.description} />}
      {task.digest && (
        <details className="rounded-md border border-rule px-4 py-2">
          <summary className="text-sm text-soft">Digest, <Age at={task.digestUpdatedAt} ago /></summary>
          <Markdown text={task.digest} className="pt-2 text-sm" />
        </details>
      )}
    </>
  );
}

export function Panels({ task, tab, onTab }: { task: Task; tab: string | undefined; onTab: (tab: string | undefined) => void }) {
  return (
    <Tabs.Root value={tabOf(tab)} onValueChange={(next) => onTab(next === "thread" ? undefined : next)}>
      <Tabs.List aria-label="Parts of this task" className="flex gap-5 border-b border-rule text-sm">
        {Object.entries(TABS).map(([value, name]) => (
          <Tabs.Trigger key={value} value={value} className="-mb-px border-b-2 border-transparent py-2 text-soft hover:text-ink data-[state=active]:border-green data-[state=active]:font-semibold data-[state=active]:text-ink">{name}</Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="thread" tabIndex={-1}><Thread task={task} /></Tabs.Content>
      <Tabs.Content value="work" tabIndex={-1}><Work task={task} /></Tabs.Content>
      <Tabs.Content value="activity" tabIndex={-1}><Activity task={task} /></Tabs.Content>
    </Tabs.Root>
  );
}

function Activity({ task }: { task: Task }) {
  return (
    <Loaded query={useQuery(activitiesQuery(task.id))}>
      {({ activities }) => activities.length === 0 ? <p className="note py-4">Nothing has happened yet.</p> : (
        <ol className="py-2">
          {activities.toSorted((one, other) => other.seq - one.seq).map((each) => (
            <li key={each.id} className="flex items-baseline justify-between gap-4 border-b border-rule py-1.5 text-sm">
              <span>{capital(each.summary)}</span><Age at={each.createdAt} ago className="note shrink-0" />
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}
