// Runs as a table: one line each, with what it cost and what can be done.

import { Link } from "@tanstack/react-router";
import type { Run } from "../../data/api";
import { compact, firstLine, kindOfKey, titleOfRun, waitsFor, whyEnded } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { type Choice, Menu } from "../../ui/menu";
import { StateBadge } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { duration, isLive, money, timesOf, useCancel, useRetry } from "./data";

type Props = {
  runs: Run[];
  openId: string | null;
  onOpen: (run: Run) => void;
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
};

const NARROW_HIDDEN = "max-md:hidden";

const COLUMNS: Column<Run>[] = [
  { name: "State", cell: (run) => <StateBadge state={run.state} />, className: "w-28 max-md:hidden" },
  { name: "Run", cell: (run) => <Name run={run} />, className: "max-w-0 w-full" },
  { name: "Agent", cell: (run) => <AgentName id={run.agentId} />, className: `whitespace-nowrap text-soft ${NARROW_HIDDEN}` },
  { name: "Queued", cell: (run) => waited(run), className: "whitespace-nowrap text-right text-soft max-lg:hidden" },
  { name: "Worked", cell: (run) => worked(run), className: "whitespace-nowrap text-right text-soft max-lg:hidden" },
  { name: "Tokens", cell: (run) => (run.usage.totalTokens > 0 ? compact(run.usage.totalTokens) : ""), className: "whitespace-nowrap text-right text-soft max-lg:hidden" },
  { name: "Cost", cell: (run) => (run.usage.costUsd === null ? "" : money(run.usage.costUsd)), className: "whitespace-nowrap text-right text-soft max-xl:hidden" },
  { name: "Age", cell: (run) => <Age at={run.createdAt} className="whitespace-nowrap text-soft" />, className: "text-right" },
  { name: "Actions", bare: true, cell: (run) => <Actions run={run} />, className: "w-8 pr-0!" },
];

export function RunTable({ runs, openId, onOpen, chosen, onChoose }: Props) {
  return <Table name="Runs" rows={runs} columns={COLUMNS} idOf={(run) => run.id} titleOf={titleOfRun} openId={openId} onOpen={onOpen} chosen={chosen} onChoose={onChoose} />;
}

function Name({ run }: { run: Run }) {
  const title = titleOfRun(run);
  return (
    <div className="min-w-0">
      <Link to="/runs/$id" params={{ id: run.id }} className="block truncate no-underline hover:underline">{title}</Link>
      <p className="note flex min-w-0 items-center gap-2">
        <StateBadge state={run.state} className="md:hidden" />
        <span className="truncate">{about(run)}</span>
      </p>
    </div>
  );
}

/** Return what one wants to know next: why it failed, what it waits for, which session it is in, or what was said. */
function about(run: Run): string {
  if (run.state === "failed") return whyEnded(run);
  if (run.state === "waiting") return `${run.sessionTitle} · ${waitsFor(run)}`;
  if (run.queuePosition !== null) return `${run.sessionTitle} · number ${run.queuePosition} in the queue`;
  const title = titleOfRun(run);
  if (run.sessionTitle !== title) return run.sessionTitle;
  const said = firstLine(run.message.text);
  return title.includes(said) ? kindOfKey(run.sessionKey) : said;
}

function waited(run: Run): string {
  const { queued, began } = timesOf(run, Date.now());
  return duration(began - queued);
}

function worked(run: Run) {
  if (run.startedAt === null) return "";
  if (run.state === "running") return <Age at={run.startedAt} />;
  const { began, ended } = timesOf(run, Date.now());
  return run.endedAt === null ? "" : duration(ended - began);
}

function Actions({ run }: { run: Run }) {
  const retry = useRetry();
  const cancel = useCancel();
  const choices: Choice[] = [
    ...(run.state === "failed" ? [{ label: "Retry", run: () => retry.mutate(run) }] : []),
    ...(isLive(run) ? [{ label: "Cancel", danger: true, run: () => cancel.mutate(run) }] : []),
    { label: "Copy id", run: () => void navigator.clipboard?.writeText(run.id) },
  ];
  return <Menu trigger={<Button weight="bare" small aria-label={`Actions of ${titleOfRun(run)}`}><Icon name="more" /></Button>} choices={choices} />;
}
