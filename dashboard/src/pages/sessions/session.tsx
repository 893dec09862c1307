// One session: its transcript, its queue, the sub-agents it spawned, and its generations.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Session } from "../../data/api";
import { sessionQuery } from "../../data/queries";
import { compact, nameOfKey, stateOfSession, titleOfSession } from "../../data/words";
import { AgentName } from "../../ui/agent";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Switch, Tabs } from "../../ui/choices";
import { Ident } from "../../ui/ident";
import { Facts } from "../../ui/facts";
import { Loaded } from "../../ui/failure";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { Menu } from "../../ui/menu";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { Title } from "../../ui/title";
import { Children } from "./children";
import { childrenQuery, contextOf, useArchive, useStop } from "./data";
import { type Ending, EndingDialog } from "./ending";
import { Generations } from "./generations";
import { Queue } from "./queue";
import { RenameDialog } from "./rename";
import { Transcript } from "./transcript";

const ROUTE = "/sessions/$key";

export function SessionPage() {
  const { key } = useParams({ from: ROUTE });
  return (
    <Loaded query={useQuery(sessionQuery(key))} heading="Sessions" waiting={<SkeletonRows label="Loading the session" />}>
      {({ session }) => <Shown key={session.key} session={session} />}
    </Loaded>
  );
}

function Shown({ session }: { session: Session }) {
  const { tab = "transcript", generation, tools } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const spawned = useQuery(childrenQuery(session.key)).data?.length ?? 0;
  const waiting = session.queuedRuns + (session.state === "busy" ? 1 : 0);
  const hide = (on: boolean) => void navigate({ search: (before) => ({ ...before, tools: on ? "hidden" : undefined }), replace: true, resetScroll: false });
  return (
    <>
      <Title name="Sessions" subject={titleOfSession(session)} actions={<Actions session={session} />}>
        <div className="mt-1.5 flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <StateBadge state={stateOfSession(session)} /><AgentName id={session.agentSlug} className="agent" />
          {session.taskId && <Link to="/tasks/$id" params={{ id: session.taskId }} className="text-sm underline">Its task</Link>}
          {session.spawnedBy && <span className="text-sm">spawned by <Link to="/sessions/$key" params={{ key: session.spawnedBy }} className="underline">{nameOfKey(session.spawnedBy)}</Link></span>}
          <Ident text={session.key} what="session key" />
        </div>
      </Title>
      <Facts label="Figures" facts={[
        { name: "Generation", value: String(session.generation) },
        { name: "Context", value: session.contextTokens > 0 ? `${contextOf(session)} tokens` : "none yet", note: "Tokens of its last request" },
        session.contextWindow.modelTokens == null && { name: "Window of its model", value: "unknown", note: "Neither the model's server nor the settings say it" },
        { name: "In all", value: `${compact(session.totalTokens)} tokens` },
        { name: "Model", value: session.model || "as its agent" },
        { name: "Recall", value: <Link to="/isolation/$key" params={{ key: session.key }} className="underline">{session.recall === "space" ? "on the board" : "this session alone"}</Link> },
        { name: "Last used", value: <Age at={session.updatedAt} ago /> },
      ]} />
      <div className="flex flex-wrap items-stretch">
        <div className="min-w-0 grow"><Tabs label="Views of this session" current={tab} tabs={[
          { id: "transcript", label: generation ? `Transcript of version ${generation}` : "Transcript" }, { id: "queue", label: "Queue", count: waiting },
          { id: "children", label: "Sub-agents", count: spawned }, { id: "generations", label: "Generations", count: session.generation },
        ]} /></div>
        {tab === "transcript" && <div className="flex items-center sm:border-b sm:border-rule sm:pl-6"><Switch label="Hide tools" on={tools === "hidden"} onChange={hide} /></div>}
      </div>
      {tab === "transcript" && <Transcript session={session} reference={generation ? `${session.key}:v${generation}` : session.key} hidesTools={tools === "hidden"} />}
      {tab === "queue" && <Queue sessionKey={session.key} />}
      {tab === "children" && <Children sessionKey={session.key} />}
      {tab === "generations" && <Generations sessionKey={session.key} />}
    </>
  );
}

function Actions({ session }: { session: Session }) {
  const [renaming, setRenaming] = useState(false);
  const [ending, setEnding] = useState<Ending>(null);
  const archive = useArchive();
  const stop = useStop();
  const isArchived = session.archivedAt !== null;
  useShortcuts([{ keys: "e", does: "Rename the session", run: () => setRenaming(true) }]);
  return (
    <>
      <Link to="/chat/$" params={{ _splat: session.key }} className="button main">Open chat</Link>
      <Link to="/isolation/$key" params={{ key: session.key }} className="button quiet">Isolation</Link>
      {(session.state === "busy" || session.queuedRuns > 0) && <Button weight="danger" busy={stop.isPending} onClick={() => stop.mutate(session)}>Stop</Button>}
      <Menu
        trigger={<Button weight="bare" aria-label="More actions"><Icon name="more" /></Button>}
        choices={[
          { label: "Rename", run: () => setRenaming(true) },
          { label: isArchived ? "Bring back" : "Archive", run: () => archive.mutate({ session, archived: !isArchived }) },
          null,
          { label: "Begin anew", run: () => setEnding("reset"), disabled: session.generation === 0 },
          { label: "Delete", run: () => setEnding("delete"), danger: true },
        ]}
      />
      <RenameDialog session={renaming ? session : null} onClose={() => setRenaming(false)} />
      <EndingDialog ending={ending} session={session} onClose={() => setEnding(null)} />
    </>
  );
}
