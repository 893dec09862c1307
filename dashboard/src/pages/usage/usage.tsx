// Usage: what do the agents use, and what does it cost?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { agentsQuery } from "../../data/queries";
import { compact, nameOfKey } from "../../data/words";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { Loaded } from "../../ui/failure";
import { Figures } from "../../ui/figures";
import { Choose, Options } from "../../ui/form";
import { Icon } from "../../ui/icon";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import { type Group, GROUPS, SPANS, type UsageSearch } from "./address";
import { Days } from "./days";
import { Groups } from "./groups";
import { DAYS_DEFAULT, duration, money, type Used, usageQuery, usedOf } from "./queries";

const GROUP_NAMES: Record<Group, string> = { agent: "Agent", model: "Model", task: "Task", session: "Session" };

export function Usage() {
  const search = useSearch({ from: "/usage" });
  const navigate = useNavigate({ from: "/usage" });
  const set = (change: UsageSearch) => void navigate({ search: (before) => ({ ...before, ...change }) });
  const agents = useQuery(agentsQuery());
  const by = search.by ?? "agent";
  const days = useQuery(usageQuery(search, "day"));
  const groups = useQuery(usageQuery(search, by));
  return (
    <>
      <Title
        name="Usage"
        actions={<>
          <Choose
            label="Agent" bare className="w-40" value={search.agent ?? ""} onChange={(event) => set({ agent: event.target.value })}
            options={[{ value: "", label: "Every agent" }, ...(agents.data?.agents ?? []).map(({ id, name }) => ({ value: id, label: name }))]}
          />
          <Options name="How many days" value={search.days ?? String(DAYS_DEFAULT)} onChange={(next) => set({ days: SPANS.find((each) => each === next) })} options={SPANS.map((value) => ({ value, label: `${value} days` }))} />
        </>}
      />
      <Narrowed search={search} set={set} />
      <Loaded query={days} waiting={<SkeletonRows count={8} />}>
        {(report) => usedOf(report.total).runs === 0 ? (
          <Empty title="No run has used anything in this time."><p>Usage is counted when an agent's run ends. Choose more days, or let an agent do something.</p></Empty>
        ) : (
          <div className={days.isPlaceholderData ? "opacity-60" : ""}>
            <Totals used={usedOf(report.total)} />
            <Days rows={report.usage} search={search} />
            <section aria-label="By what" className="py-4">
              <div className="pb-3"><Options name="Sum up by" value={by} onChange={(next) => set({ by: GROUPS.find((each) => each === next) })} options={GROUPS.map((value) => ({ value, label: GROUP_NAMES[value] }))} /></div>
              <Loaded query={groups} waiting={<SkeletonRows />}>{(grouped) => <Groups report={grouped} by={by} name={GROUP_NAMES[by]} set={set} agents={agents.data?.agents ?? []} />}</Loaded>
            </section>
          </div>
        )}
      </Loaded>
    </>
  );
}

function Totals({ used }: { used: Used }) {
  const cached = used.inputTokens > 0 ? Math.round((used.cachedTokens / used.inputTokens) * 100) : 0;
  return (
    <Figures figures={[
      { name: "Runs", value: used.runs.toLocaleString("en") },
      { name: "Input tokens", value: compact(used.inputTokens), note: `${cached} % of them cached` },
      { name: "Output tokens", value: compact(used.outputTokens) },
      { name: "Time", value: duration(used.seconds) },
      { name: "Cost", value: money(used.costUsd), note: used.costUsd === null ? "name prices in the settings" : `${money(used.costUsd / used.runs)} a run` },
    ]} />
  );
}

function Narrowed({ search, set }: { search: UsageSearch; set: (change: UsageSearch) => void }) {
  const only: [keyof UsageSearch, string][] = [];
  if (search.model) only.push(["model", `model ${search.model}`]);
  if (search.task) only.push(["task", "one task"]);
  if (search.session) only.push(["session", nameOfKey(search.session)]);
  if (only.length === 0) return null;
  return (
    <p className="flex flex-wrap items-center gap-2 pt-3 text-sm text-soft">
      Only {only.map(([name, words]) => <Button key={name} small aria-label={`Stop showing only ${words}`} onClick={() => set({ [name]: undefined })}>{words}<Icon name="close" className="size-3.5" /></Button>)}
    </p>
  );
}
