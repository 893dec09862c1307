// A tool call in the transcript: one closed line with its true outcome; a spawned sub-agent is a card that opens.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Message } from "../../data/api";
import { sessionQuery } from "../../data/queries";
import { firstLine, stateOfSession, titleOfSession } from "../../data/words";
import { Age } from "../../ui/age";
import { AgentName } from "../../ui/agent";
import { StateBadge } from "../../ui/state";

const OUTCOMES: Record<string, string> = { done: "text-soft", refused: "font-semibold text-brass", failed: "font-semibold text-red", "no result yet": "text-soft" };

export function ToolRow({ call, result }: { call: Message; result: Message | null }) {
  const { name, input } = callOf(call);
  const { text, outcome } = resultOf(result);
  const child = name === "sessions_spawn" ? childOf(text) : null;
  return (
    <>
      {child !== null && <ChildCard sessionKey={child} />}
      <details role="group" aria-label={`${name}, ${outcome}`} className="max-w-[46rem] rounded-md border border-rule text-[0.8125rem] sm:ml-[6.6rem]">
        <summary className="flex items-baseline gap-3 px-3 py-1.5 before:text-soft before:content-['▸'] [[open]>&]:before:content-['▾']">
          <span className="min-w-0 truncate font-mono font-semibold sm:shrink-0">{name}</span>
          <span className="min-w-0 truncate font-mono text-soft max-sm:hidden">{firstLine(input, 90)}</span>
          <span data-outcome={outcome} className={`ml-auto whitespace-nowrap ${OUTCOMES[outcome] ?? ""}`}>{outcome}</span>
        </summary>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-1 border-t border-rule px-3 py-2.5">
          <p className="note">Call</p>
          <pre tabIndex={0} className="code wrap max-h-80 overflow-y-auto">{pretty(input)}</pre>
          {result !== null && <><p className="note">Result</p><pre tabIndex={0} className="code wrap max-h-80 overflow-y-auto">{pretty(text)}</pre></>}
        </div>
      </details>
    </>
  );
}

/** A sub-agent at work or done, live; it opens its own transcript. */
function ChildCard({ sessionKey }: { sessionKey: string }) {
  const session = useQuery(sessionQuery(sessionKey)).data?.session;
  return (
    <Link
      to="/chat/$" params={{ _splat: sessionKey }}
      className="mb-2 grid max-w-[46rem] gap-0.5 rounded-r-lg border border-l-[3px] border-rule border-l-green bg-leaf px-4 py-2.5 no-underline shadow-leaf hover:border-edge sm:ml-[6.6rem]"
    >
      <span className="flex items-baseline justify-between gap-3">
        <span className="agent">Sub-agent{session && <> · <AgentName id={session.agentSlug} /></>}</span>
        {session && <StateBadge state={stateOfSession(session)} />}
      </span>
      <span className="font-serif text-[1.0625rem]">{session ? titleOfSession(session) : "Sub-agent"}</span>
      {session && <span className="note"><Age at={session.updatedAt} ago /></span>}
    </Link>
  );
}

function callOf(message: Message): { name: string; input: string } {
  const part = message.content.find((each) => "name" in each);
  return { name: part?.name ?? "tool", input: part && "arguments" in part ? asText(part.arguments) : "" };
}

function resultOf(message: Message | null): { text: string; outcome: string } {
  const part = message?.content.find((each) => each.type === "toolResult");
  return part === undefined ? { text: "", outcome: "no result yet" } : { text: part.text, outcome: part.outcome };
}

function childOf(result: string): string | null {
  try {
    const { childSessionKey } = JSON.parse(result) as { childSessionKey?: string };
    return childSessionKey ?? null;
  } catch {
    return null;
  }
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Return JSON indented, anything else unchanged. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
