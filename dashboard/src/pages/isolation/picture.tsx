// A picture of the walls: at the left what reaches this lane, at the right what stays outside, each with its reason.

import type { Session, Shapes } from "../../data/api";
import { plural } from "../../data/words";
import { Icon } from "../../ui/icon";

type Access = Shapes["SessionAccess"];
type Thing = { what: string; why: string };

const SEES: Record<Access["visibility"]["mode"], string> = {
  self: "its own transcript only", tree: "its own and those it spawned", agent: "every session of its agent", all: "every session of the account",
};

export function Picture({ session, access }: { session: Session; access: Access }) {
  const [inside, outside] = sides(session, access);
  return (
    <section aria-label="Walls" className="grid gap-y-4 py-5 lg:grid-cols-[minmax(0,1fr)_3.5rem_minmax(0,1fr)]">
      <Side name="Reaches this session" sign="check" look="text-green" things={inside} />
      <div aria-hidden="true" className="flex items-stretch justify-center max-lg:h-3 max-lg:w-full">
        <span className="w-3 bg-[repeating-linear-gradient(0deg,var(--edge)_0_10px,var(--paper)_10px_12px)] max-lg:h-3 max-lg:w-full max-lg:bg-[repeating-linear-gradient(90deg,var(--edge)_0_18px,var(--paper)_18px_20px)]" />
      </div>
      <Side name="Does not" sign="close" look="text-red" things={outside} />
    </section>
  );
}

function Side({ name, sign, look, things }: { name: string; sign: "check" | "close"; look: string; things: Thing[] }) {
  return (
    <div className="min-w-0">
      <h3 className="mb-1 text-xl">{name}</h3>
      <ul aria-label={name} className="border-t border-rule">
        {things.map(({ what, why }) => (
          <li key={what} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5 border-b border-rule py-1.5">
            <Icon name={sign} className={`mt-1 size-4 ${look}`} /><p>{what} <span className="note">{why}</span></p>
          </li>
        ))}
      </ul>
    </div>
  );
}

function sides(session: Session, { chain, spaceIds, recall, visibility }: Access): [Thing[], Thing[]] {
  const spaces = spaceIds.includes("*") ? "every space" : spaceIds.join(", ") || "no space";
  const isBoard = recall.recall === "space";
  const inside: Thing[] = [
    { what: "What is said here", why: "in this generation; an earlier one is not recalled" },
    ...(session.taskId ? [{ what: "The thread of its task", why: "it is a lane of that task" }] : []),
    ...chain.map((scope) => ({ what: `Memory of ${scopeWords(scope)}`, why: scope })),
    { what: "Notes", why: `of ${spaces}` },
    { what: "Titles, states and due dates of tasks", why: `of ${spaces}` },
    { what: "Names of topics", why: `of ${spaces}` },
    ...(isBoard ? [{ what: "What is said in sessions on the board", why: `of ${spaces}` }] : []),
    { what: `Transcripts by its tools: ${plural(visibility.keys.length, "session")}`, why: `visibility ${visibility.mode}: ${SEES[visibility.mode]}` },
  ];
  const outside: Thing[] = [
    ...(isBoard ? [] : [{ what: "What is said in other sessions", why: "this session is private, and recalls itself alone" }]),
    { what: "What is said in private sessions of others", why: "what is said stays" },
    { what: "Threads and digests of other tasks", why: "of a task only title, state and due date travel" },
    ...(chain.some((scope) => scope.startsWith("session:")) ? [{ what: "What other sessions remember", why: "memory crosses only by promotion" }] : []),
    ...(spaceIds.includes("*") ? [] : [{ what: "Everything in other spaces", why: "its agent is limited to its own" }]),
    ...(visibility.mode === "all" ? [] : [{ what: "Transcripts of all other sessions", why: `visibility ${visibility.mode}: ${SEES[visibility.mode]}` }]),
  ];
  return [inside, recall.onBoard ? outside : [...outside, { what: "And outward: what is said here", why: "it is in no topic, no digest and no other prompt" }]];
}

function scopeWords(scope: string): string {
  const [kind = ""] = scope.split(":");
  return { session: "this session", goal: "its goal", task: "its task", global: "the account" }[kind] ?? scope;
}
