// The message field and its buttons. While the newest run asks something, what is written here is the answer.

import { type FormEvent, type KeyboardEvent, type Ref, useImperativeHandle, useRef, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run, type Shapes } from "../../data/api";
import type { Decision } from "../../data/held";
import { useAnswer } from "../../ui/answer";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { type Suggestion, SuggestionList, useSuggestions } from "./commands";
import { withFiles } from "./files";
import type { Line } from "./items";
import { keep, kept } from "./kept";

export type ComposerHandle = {
  focus: () => void;
  attach: (files: Iterable<File>) => void;
  /** Put a refused answer back and say why; false if there is another text by now. */
  takeBack: (line: Line) => boolean;
};

type Props = {
  sessionKey: string;
  asking: Run | null;
  occupied: boolean;
  /** Whether a turn is under way, into which a message can be sent. */
  working: boolean;
  onSend: (text: string, answers: string | null, files: Shapes["NewFile"][], steers: boolean) => void;
  onAnswered: (run: Run, decision: Decision) => void;
  ref: Ref<ComposerHandle>;
};

export function Composer({ sessionKey, asking, occupied, working, onSend, onAnswered, ref }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(() => kept(sessionKey).text ?? "");
  const [begunFor, setBegunFor] = useState<string | null>(() => kept(sessionKey).answers ?? null);
  const [files, setFiles] = useState<Shapes["NewFile"][]>([]);
  const [complaint, setComplaint] = useState("");
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState(false);
  const found = useSuggestions(text);
  const suggestions = dismissed ? [] : found;
  const stop = useAction({
    act: () => ask(api.POST("/api/sessions/{key}/stop", { params: { path: { key: sessionKey } } })),
    failed: "Nothing was stopped",
    stale: () => [["session", sessionKey], ["runs"]],
  });
  const decide = useAnswer((run, decision) => {
    if (decision.text) change("");
    field.current?.focus();
    onAnswered(run, decision);
  });
  const approval = asking?.waitingFor === "approval";
  // A text belongs to what was asked when it was begun, so that nobody answers a question that they have not seen.
  const answers = text === "" ? (asking?.id ?? null) : begunFor;

  function change(next: string, to: string | null = asking?.id ?? null) {
    const owner = text === "" || next === "" ? to : begunFor;
    setText(next);
    setBegunFor(owner);
    setChosen(0);
    setDismissed(false);
    keep(sessionKey, { text: next, answers: owner });
  }

  function submit(event?: FormEvent, steers = false) {
    event?.preventDefault();
    field.current?.focus();
    const written = text.trim();
    if (written === "") return;
    setComplaint("");
    change("");
    setFiles([]);
    onSend(written, answers, files, steers);
  }

  function pick(suggestion: Suggestion) {
    change(suggestion.completed);
    field.current?.focus();
  }

  function pressed(event: KeyboardEvent) {
    const at = suggestions[chosen];
    if (at !== undefined && !event.nativeEvent.isComposing) {
      const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      const completes = event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && at.completed.trim() !== text.trim());
      if (by !== 0) setChosen((chosen + by + suggestions.length) % suggestions.length);
      if (event.key === "Escape") setDismissed(true);
      if (completes) pick(at);
      if (by !== 0 || completes || event.key === "Escape") return event.preventDefault();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      submit(undefined, working && answers === null && (event.ctrlKey || event.metaKey));
    }
  }

  const attach = (added: Iterable<File>) => void withFiles(files, added).then(setFiles);
  useImperativeHandle(ref, () => ({
    focus: () => field.current?.focus(),
    attach,
    takeBack(line) {
      if (field.current?.value !== "") return false;
      change(line.text, line.answers);
      setFiles(line.files);
      setComplaint(`Not sent: ${line.error}`);
      return true;
    },
  }));

  const decision = (approve: boolean) => asking && decide.mutate({ run: asking, decision: { approve, ...(!approve && text.trim() ? { text: text.trim() } : {}) } });
  return (
    <form aria-label="Write" onSubmit={submit} className="relative grid gap-1.5 border-t border-rule pt-3 pb-4">
      <SuggestionList suggestions={suggestions} chosen={chosen} onPick={pick} />
      <p id="answering" role="status" className="text-[0.8125rem] text-brass empty:hidden">{said(asking, answers)}</p>
      {files.length > 0 && (
        <ul aria-label="Attached files" className="flex flex-wrap gap-1.5">
          {files.map((file, i) => (
            <li key={i} className="inline-flex items-center gap-1 rounded border border-rule bg-leaf py-0.5 pl-2 text-[0.8125rem]">
              {file.name}
              <Button weight="bare" small aria-label={`Remove ${file.name}`} onClick={() => setFiles(files.filter((_, at) => at !== i))}><Icon name="close" className="size-3.5" /></Button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <Button weight="bare" aria-label="Attach files" title="Attach files" className="min-h-[2.6rem]!" onClick={() => chooser.current?.click()}><Icon name="clip" /></Button>
        <label htmlFor="message" className="sr-only">Message</label>
        <textarea
          ref={field} id="message" rows={1} autoComplete="off" value={text} aria-describedby="answering message-hint"
          aria-controls={suggestions.length > 0 ? "suggestions" : undefined} aria-activedescendant={suggestions.length > 0 ? `suggestion-${chosen}` : undefined}
          placeholder={asking === null ? "Message this agent…" : approval ? "yes, or no and why" : "Your answer…"}
          onChange={(event) => change(event.target.value)}
          onKeyDown={pressed}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            attach(event.clipboardData.files);
          }}
          className="field min-h-[2.6rem] min-w-48 flex-1 resize-none! rounded-lg py-2 text-base"
        />
        <div className="flex flex-wrap items-end gap-2 [&_.button]:min-h-[2.6rem]">
          {approval && (
            <>
              <Button weight="main" busy={decide.isPending} onClick={() => decision(true)}>Approve</Button>
              <Button weight="danger" busy={decide.isPending} onClick={() => decision(false)}>Refuse</Button>
            </>
          )}
          <Button type="submit" weight={approval ? "quiet" : "main"}>{answers === null ? "Send" : "Answer"}</Button>
          {working && answers === null && <Button title="The agent hears it at its next step (Ctrl+Enter)" disabled={text.trim() === ""} onClick={() => submit(undefined, true)}>Send into this turn</Button>}
          <Button busy={stop.isPending} title={occupied ? "Cancel the running and queued runs of this chat" : "Nothing is running"} className={occupied ? "" : "border-rule! text-soft! max-sm:hidden!"} onClick={() => occupied && stop.mutate()}>
            {stop.isPending ? "Stopping…" : "Stop"}
          </Button>
        </div>
        <input ref={chooser} type="file" multiple hidden aria-label="Files" onChange={(event) => { attach([...(event.target.files ?? [])]); event.target.value = ""; }} />
      </div>
      <p id="message-hint" className="hidden text-xs text-soft sm:block">Enter to send, Shift+Enter for a new line, / for commands. Files can be dropped or pasted.</p>
      <p role="alert" className="complaint empty:hidden">{complaint}</p>
    </form>
  );
}

/** Return what will become of the text in the field, as far as that is not plain. */
function said(asking: Run | null, answers: string | null): string {
  if (answers === null) return asking === null ? "" : "A question came while you were writing. This text is a message of its own.";
  if (asking?.id !== answers) return "The question that you were answering is no longer open.";
  if (asking.waitingFor === "approval") return "Your message answers the question above: yes, or no and why.";
  return "Your message answers the question above.";
}
