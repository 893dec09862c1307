// The calls of tools in a run: arguments, results, and what really came of each.

import { capital, firstLine } from "../../data/words";
import { Icon } from "../../ui/icon";
import { Code } from "../../ui/markdown";
import { duration, type ToolUse } from "./data";

const LOOKS: Record<string, string> = { done: "text-green", failed: "text-red font-semibold", refused: "text-brass font-semibold" };

export function Tools({ uses }: { uses: ToolUse[] }) {
  if (uses.length === 0) return <p className="note">No tool was called.</p>;
  return <div className="border-t border-rule">{uses.map((use) => <Use key={use.id} use={use} />)}</div>;
}

function Use({ use }: { use: ToolUse }) {
  const outcome = use.outcome ?? "under way";
  const took = use.endedAt === null ? "" : duration(Date.parse(use.endedAt) - Date.parse(use.calledAt));
  return (
    <details className="group border-b border-rule">
      <summary className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-baseline gap-x-3 py-1.5">
        <Icon name="right" className="size-3.5 self-center text-soft transition-transform group-open:rotate-90" />
        <span className="flex min-w-0 items-baseline gap-3"><code className="shrink-0">{use.name}</code><span className="note min-w-0 truncate group-open:invisible">{use.outcome === "done" ? brief(use.arguments) : reasonIn(use.result)}</span></span>
        <span className={`text-sm ${LOOKS[outcome] ?? "text-soft"}`}>{capital(outcome)} <span className="note font-normal">{took}</span></span>
      </summary>
      <div className="grid gap-2 pb-3 pl-6">
        <Labelled name="Arguments"><Code>{pretty(use.arguments)}</Code></Labelled>
        {use.result !== null && <Labelled name={use.outcome === "done" ? "Result" : capital(outcome)}><Code>{pretty(use.result)}</Code></Labelled>}
      </div>
    </details>
  );
}

function Labelled({ name, children }: { name: string; children: React.ReactNode }) {
  return <div className="min-w-0"><p className="note">{name}</p>{children}</div>;
}

/** Return a value as a person reads it: JSON with line breaks, text as it is. */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "object" ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
}

function brief(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value ?? "");
  return Object.entries(value).map(([name, each]) => `${name}: ${typeof each === "string" ? firstLine(each, 60) : JSON.stringify(each)}`).join(", ");
}

function reasonIn(result: string | null): string {
  try {
    const parsed = JSON.parse(result ?? "") as { error?: { message?: string } };
    return parsed.error?.message ?? firstLine(result);
  } catch {
    return firstLine(result);
  }
}
