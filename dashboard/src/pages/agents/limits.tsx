// What an agent may see and do: its spaces, what it may do on its own, its sandbox, and its sub-agents.

import { useQuery } from "@tanstack/react-query";
import type { Agent, Shapes } from "../../data/api";
import { spacesQuery } from "../../data/places";
import { Check, Choose, TextField } from "../../ui/form";

export type Flag = keyof Shapes["BehaviorFlags"];

export const FLAGS: [Flag, string][] = [
  ["canCreateTasks", "create tasks"], ["canModifyTaskStatus", "move tasks"], ["canMentionAgents", "mention agents"],
  ["canReviewTasks", "review tasks"], ["canMarkDone", "mark tasks done"], ["canPromoteMemory", "promote memories"],
];

const SIGHTS = ["self", "tree", "agent", "all"] as const;
const SIGHT_NAMES: Record<(typeof SIGHTS)[number], string> = { self: "Only its own", tree: "Its own and those it started", agent: "Every session of this agent", all: "Every session" };

export type Limits = { spaces: string[]; flags: Record<Flag, boolean | null>; sandbox: "off" | "on"; visibility: string; starts: string; childrenMost: string };

export function limitsOf(agent: Agent | undefined): Limits {
  return {
    spaces: [...(agent?.spaceIds ?? ["*"])],
    flags: Object.fromEntries(FLAGS.map(([flag]) => [flag, agent?.behaviorFlags[flag] ?? null])) as Limits["flags"],
    sandbox: agent?.sandbox ?? "off", visibility: agent?.visibility ?? "",
    starts: agent?.subagents.allowAgents?.join(", ") ?? "", childrenMost: agent?.subagents.maxChildren == null ? "" : String(agent.subagents.maxChildren),
  };
}

const CHILDREN_MAX = 1_000;

/** Return what is wrong, by field. */
export function wrongLimits({ spaces, starts, childrenMost }: Limits, agents: Agent[]): { spaces?: string; starts?: string; childrenMost?: string } {
  const unknown = listed(starts).find((name) => name !== "*" && !agents.some(({ id, slug }) => id === name || slug === name));
  const most = Number(childrenMost);
  return {
    ...(spaces.length === 0 && { spaces: "Choose at least one space." }),
    ...(unknown !== undefined && { starts: `There is no agent ${unknown}.` }),
    ...(childrenMost.trim() !== "" && !(Number.isInteger(most) && most >= 0 && most <= CHILDREN_MAX) && { childrenMost: `A whole number up to ${CHILDREN_MAX}.` }),
  };
}

export function limitsBody(limits: Limits): Shapes["AgentPatch"] {
  return {
    spaceIds: limits.spaces, behaviorFlags: limits.flags, sandbox: limits.sandbox, visibility: SIGHTS.find((each) => each === limits.visibility) ?? null,
    subagents: { allowAgents: listed(limits.starts), maxChildren: limits.childrenMost.trim() === "" ? null : Number(limits.childrenMost) },
  };
}

const listed = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

type Props = { limits: Limits; wrong: ReturnType<typeof wrongLimits>; onChange: (limits: Limits) => void };

export function LimitFields({ limits, wrong, onChange }: Props) {
  const set = (change: Partial<Limits>) => onChange({ ...limits, ...change });
  return (
    <>
      <Spaces chosen={limits.spaces} complaint={wrong.spaces} onChange={(spaces) => set({ spaces })} />
      <fieldset className="sm:col-span-2">
        <legend className="text-[0.8125rem] font-medium">What it may do by itself</legend>
        <div className="mt-1 grid gap-x-5 gap-y-1 sm:grid-cols-2">
          {FLAGS.map(([flag, words]) => <FlagChoice key={flag} words={words} value={limits.flags[flag]} onChange={(value) => set({ flags: { ...limits.flags, [flag]: value } })} />)}
        </div>
      </fieldset>
      <Choose label="Sandbox" value={limits.sandbox} onChange={(event) => set({ sandbox: event.target.value === "on" ? "on" : "off" })} hint="In a sandbox it finds only what is in sessions it may see." options={[{ value: "off", label: "Off" }, { value: "on", label: "On" }]} />
      <Choose label="Sessions it sees" value={limits.visibility} onChange={(event) => set({ visibility: event.target.value })} options={[{ value: "", label: "As the settings say" }, ...SIGHTS.map((value) => ({ value, label: SIGHT_NAMES[value] }))]} />
      <TextField label="Agents it may start" mono value={limits.starts} complaint={wrong.starts} onChange={(event) => set({ starts: event.target.value })} hint="Besides itself, with commas between; * is all." />
      <TextField label="Sub-agents at a time" inputMode="numeric" placeholder="as the settings say" value={limits.childrenMost} complaint={wrong.childrenMost} onChange={(event) => set({ childrenMost: event.target.value })} />
    </>
  );
}

function FlagChoice({ words, value, onChange }: { words: string; value: boolean | null; onChange: (value: boolean | null) => void }) {
  return (
    <label className="flex items-center justify-between gap-3 text-sm">
      <span>{words}</span>
      <select value={String(value)} onChange={(event) => onChange(event.target.value === "null" ? null : event.target.value === "true")} className="field min-h-8! w-auto! py-0! text-[0.8125rem]!">
        <option value="null">As the account says</option><option value="true">Yes</option><option value="false">No</option>
      </select>
    </label>
  );
}

function Spaces({ chosen, complaint, onChange }: { chosen: string[]; complaint?: string; onChange: (spaces: string[]) => void }) {
  const spaces = useQuery(spacesQuery()).data?.rows ?? [];
  const every = chosen.includes("*");
  return (
    <fieldset className="sm:col-span-2">
      <legend className="text-[0.8125rem] font-medium">Spaces it sees</legend>
      <div className="mt-1 flex flex-wrap gap-x-5 gap-y-1">
        <Check label="Every space" checked={every} onChange={(event) => onChange(event.target.checked ? ["*"] : [])} />
        {!every && spaces.map(({ id, name }) => (
          <Check key={id} label={name} checked={chosen.includes(id)} onChange={(event) => onChange(event.target.checked ? [...chosen, id] : chosen.filter((each) => each !== id))} />
        ))}
      </div>
      {complaint && <p className="complaint">{complaint}</p>}
    </fieldset>
  );
}
