// What an agent was shown in a run, step by step, and how large each part was.

import { useQuery } from "@tanstack/react-query";
import { api, ask, type Shapes } from "../data/api";
import { runQuery } from "../data/queries";
import { compact, plural } from "../data/words";
import { Dialog } from "./dialog";
import { Loaded } from "./failure";

type Step = Shapes["ReceiptStep"];
type Part = { name: "instructions" | "tools" | "context" | "input" | "output"; text: string };

// Without the model's own count: English text has about four characters to a token.
const CHARACTERS_PER_TOKEN = 4;
const LOOKS: Record<Part["name"], string> = {
  instructions: "bg-soft",
  tools: "bg-edge",
  context: "bg-brass-edge",
  input: "bg-green",
  output: "bg-[repeating-linear-gradient(45deg,var(--green)_0_3px,var(--green-wash)_3px_6px)]",
};

/** The dialog; which run's receipt is open is part of the page's address. */
export function ReceiptDialog({ runId, onClose }: { runId: string | undefined; onClose: () => void }) {
  return (
    <Dialog title="What it was shown" wide open={runId !== undefined} onClose={onClose}>
      {runId !== undefined && <ReceiptView runId={runId} />}
    </Dialog>
  );
}

function ReceiptView({ runId }: { runId: string }) {
  const receipt = useQuery({
    queryKey: ["run", runId, "receipt", "body"],
    queryFn: ({ signal }) => ask(api.GET("/api/runs/{id}/receipt", { params: { path: { id: runId }, query: { body: true } }, signal })),
  });
  const usage = useQuery(runQuery(runId)).data?.run.usage;
  return (
    <Loaded query={receipt}>
      {({ steps, deliverySessionKey, sessionKey }) => (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          <p className="note">
            <code>{deliverySessionKey ?? sessionKey}</code> · {plural(steps.length, "step")}
            {usage && usage.totalTokens > 0 && ` · ${compact(usage.inputTokens)} tokens in, ${compact(usage.outputTokens)} out`}
          </p>
          {steps.length === 0 && <p>Nothing was sent to a model in this run.</p>}
          {steps.map((step, i) => <StepView key={`${step.n}/${step.attempt}`} step={step} open={i === steps.length - 1} />)}
        </div>
      )}
    </Loaded>
  );
}

function StepView({ step, open }: { step: Step; open: boolean }) {
  const input = inputItems(step.input);
  const parts = partsOf(step, input.map((item) => item.text).join("\n"));
  const about = [step.model, step.sentAt ? new Date(step.sentAt).toLocaleString() : "nothing was sent"].filter(Boolean).join(" · ");
  return (
    <details open={open} className="group/step border-t border-rule pt-2">
      <summary className="flex flex-wrap items-baseline gap-x-3 py-1 font-serif text-lg">
        <Sign />Step {step.n}{step.attempt > 1 && `, attempt ${step.attempt}`}<span className="note font-sans">{about}</span>
      </summary>
      <Sizes parts={parts} />
      <Fold name="Instructions" note={step.instructionsVersion}><pre tabIndex={0} className="code wrap">{step.instructions}</pre></Fold>
      <Fold name="Tools" note={plural(step.tools.length, "tool")}>
        <ul className="flex flex-wrap gap-1.5">{step.tools.map((name) => <li key={name} className="rounded border border-rule px-2 font-mono text-[0.8125rem]">{name}</li>)}</ul>
      </Fold>
      {step.context.block !== "" && (
        <Fold name="Recalled" note={plural(step.context.items.length, "line")}>
          <pre tabIndex={0} className="code wrap">{step.context.block}</pre>
          <ul className="mt-2 grid gap-1 text-sm">
            {step.context.items.map((item) => <li key={`${item.section}/${item.id}`}><span className="agent">{item.section}</span> {item.reason} <span className="note">{item.source}</span></li>)}
          </ul>
        </Fold>
      )}
      <Fold name="Input" note={plural(input.length, "item") + (step.historyOmitted > 0 ? ` · ${plural(step.historyOmitted, "older message")} left out` : "")}>
        {input.map((item, i) => <div key={i} className="mb-2"><p className="agent">{item.role}</p><pre tabIndex={0} className="code wrap">{item.text}</pre></div>)}
      </Fold>
      {step.leftOut.length > 0 && <p className="note py-1">This gateway cannot be told: {step.leftOut.join(", ")}.</p>}
      <Fold name="Output"><pre tabIndex={0} className="code wrap">{asText(step.output)}</pre></Fold>
      <p className="note pt-1">Body sent: sha256 <code>{step.bodySha256.slice(0, 12)}</code></p>
    </details>
  );
}

function partsOf(step: Step, input: string): Part[] {
  const parts: Part[] = [
    { name: "instructions", text: step.instructions ?? "" },
    { name: "tools", text: toolsOf(step.body) },
    { name: "context", text: step.context.block },
    // The block of the context is a part of the input, and counted once.
    { name: "input", text: input.replace(step.context.block, "") },
    { name: "output", text: asText(step.output) },
  ];
  return parts.filter((part) => part.text !== "");
}

/** Return the definitions of the tools as they were sent. */
function toolsOf(body: string | undefined): string {
  try {
    const { tools } = JSON.parse(body ?? "{}") as { tools?: unknown };
    return tools === undefined ? "" : JSON.stringify(tools);
  } catch {
    return "";
  }
}

/** A bar with one segment per part, in proportion to its length. */
function Sizes({ parts }: { parts: Part[] }) {
  const said = parts.map(({ name, text }) => `${name} ${characters(text.length)}`).join(", ");
  return (
    <div className="py-2">
      <div role="img" aria-label={said} className="flex h-6 gap-0.5">
        {parts.map(({ name, text }) => <span key={name} style={{ flexGrow: text.length }} className={`min-w-1 basis-0 rounded-sm ${LOOKS[name]}`} />)}
      </div>
      <ul aria-hidden="true" className="mt-2 flex flex-wrap gap-x-5 gap-y-0.5 text-[0.8125rem] text-soft">
        {parts.map(({ name, text }) => (
          <li key={name}>
            <span className={`mr-1.5 inline-block size-2.5 rounded-sm ${LOOKS[name]}`} />{name} <b className="font-medium text-ink">about {compact(Math.ceil(text.length / CHARACTERS_PER_TOKEN))} tokens</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Fold({ name, note, children }: { name: string; note?: string; children: React.ReactNode }) {
  return (
    <details className="group/fold border-t border-rule">
      <summary className="flex items-baseline gap-2 py-1.5"><Sign />{name}<span className="note ml-auto">{note}</span></summary>
      <div className="max-h-96 overflow-y-auto pb-3">{children}</div>
    </details>
  );
}

function Sign() {
  return <span aria-hidden="true" className="inline-block w-3 text-xs text-soft [[open]>summary>&]:rotate-90">▸</span>;
}

const characters = (count: number): string => (count < 10_000 ? `${count.toLocaleString("en")} characters` : `${Math.round(count / 1000)} k characters`);

type Sent = { role?: string; type?: string; name?: string; arguments?: string; output?: unknown; content?: unknown };

/** Return the input as a list of role and text, whether it was sent as a string or as items. */
function inputItems(input: unknown): { role: string; text: string }[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input)) return [{ role: "input", text: asText(input) }];
  return (input as Sent[]).map((item) => ({ role: item.role ?? item.type ?? "item", text: itemText(item) }));
}

function itemText(item: Sent): string {
  if (item.type === "function_call") return `${item.name}(${item.arguments ?? ""})`;
  if (item.type === "function_call_output") return asText(item.output);
  if (Array.isArray(item.content)) return item.content.map((each: { text?: string }) => each.text ?? JSON.stringify(each)).join("\n");
  return item.content === undefined ? JSON.stringify(item, null, 2) : asText(item.content);
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return Array.isArray(value) ? inputItems(value).map((item) => item.text).join("\n") : JSON.stringify(value, null, 2);
}
