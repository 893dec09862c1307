// What crosses from one lane to another, in the words of the guide of that name.

import { Fragment } from "react";

export const CROSSING = "crossing";

const WAYS: [string, string, string][] = [
  ["a note", "its text", "every lane in its space"],
  ["a task", "title, status and due date; not its thread or its digest", "every lane in its space"],
  ["a promoted fact", "its text", "every lane of the account"],
  ["a topic of the board", "its name", "every lane in its space"],
  ["a session that is put on the board", "everything that is said in it", "lanes on the board, in its space"],
  ["an entry that a person moves to a topic", "that entry", "lanes on the board, in the topic's space"],
  ["what a program records", "its entries: the log, hooks, imports and bridges", "lanes on the board, in its space"],
  ["a message from one session to another", "the message and its answer", "the two sessions"],
  ["a sub-agent", "its work, and its result", "itself, and the session that spawned it"],
  ["an agent's session tools", "transcripts of sessions that its visibility covers; never another person's chat for somebody else", "that run"],
];

export function Crossing() {
  return (
    <section id={CROSSING} tabIndex={-1} aria-label="What crosses and what does not" className="scroll-mt-16 py-6 outline-none">
      <h2 className="text-2xl">What crosses and what does not</h2>
      <p className="mt-1 max-w-[52rem]">What is said stays; what is kept travels. Everything that is said in a session is recalled in that session alone, and in the lanes of its task if it is one of a task. Nothing of it is in another agent's prompt, in a topic or in a digest, however long you wait. These are the ways from one lane to another; there are no others, and each of them is somebody's decision.</p>
      <dl className="mt-3 grid border-t border-rule text-sm sm:grid-cols-[minmax(0,16rem)_minmax(0,1fr)_minmax(0,18rem)]">
        {WAYS.map(([way, what, whom]) => (
          <Fragment key={way}>
            <dt className="pt-2 font-semibold sm:border-b sm:border-rule sm:py-1.5 sm:pr-4">{way}</dt>
            <dd className="sm:border-b sm:border-rule sm:py-1.5 sm:pr-4">{what}</dd>
            <dd className="border-b border-rule pb-2 text-soft sm:py-1.5">to {whom}</dd>
          </Fragment>
        ))}
      </dl>
      <p className="note mt-3 max-w-[52rem]">People share the board, the lanes of agents and those of tasks. A chat belongs to the person who opened it. A run sees at most what its agent may see and whoever caused it.</p>
    </section>
  );
}
