// Where one writes to a task's thread: Enter sends, @ completes a name, files are chosen, dropped or pasted.

import { type KeyboardEvent, useId, useRef, useState } from "react";
import { tellFailure, useAction } from "../../data/action";
import { api, ask, type Shapes, type Task } from "../../data/api";
import type { Directory } from "../../data/places";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";

type Party = { slug: string; name: string };
type Sent = Shapes["FileShape"];

const OFFERED_MOST = 6;
const draftKey = (task: Task): string => `carrel.draft.${task.id}`;

export function Composer({ task, directory }: { task: Task; directory: Directory }) {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(task)) ?? "");
  const [files, setFiles] = useState<Sent[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  const write = (next: string) => {
    setText(next);
    if (next === "") sessionStorage.removeItem(draftKey(task));
    else sessionStorage.setItem(draftKey(task), next);
  };
  const mention = useMention(text, directory, field, write);
  const send = useAction({
    act: (body: Shapes["MessageBody"]) => ask(api.POST("/api/tasks/{id}/messages", { params: { path: { id: task.id } }, body })),
    failed: "The message was not sent",
    stale: () => [["task", task.id]],
  });
  const submit = () => {
    if (text.trim() === "" || send.isPending) return;
    const said = { content: text.trim(), attachmentIds: files.map(({ id }) => id) };
    const kept = files;
    write("");
    setFiles([]);
    send.mutate(said, {
      onError: () => {
        write(field.current?.value || said.content);
        setFiles(kept);
      },
    });
  };
  const attach = async (chosen: Iterable<File>) => {
    for (const file of chosen) {
      try {
        const { attachment } = await upload(file);
        setFiles((now) => [...now, attachment]);
      } catch (error) {
        tellFailure(`${file.name} was not attached`, error as Error);
      }
    }
  };
  return (
    <div
      className="pt-1 pb-3"
      onDragOver={(event) => event.dataTransfer.types.includes("Files") && event.preventDefault()}
      onDrop={(event) => {
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        void attach(event.dataTransfer.files);
      }}
    >
      {mention.menu}
      {files.length > 0 && (
        <ul aria-label="Files to send" className="mb-1 flex flex-wrap gap-1.5">
          {files.map((file) => (
            <li key={file.id} className="inline-flex items-center gap-1 rounded-md border border-rule bg-leaf pl-2 text-sm">
              {file.fileName}<Button weight="bare" small aria-label={`Leave out ${file.fileName}`} onClick={() => setFiles(files.filter(({ id }) => id !== file.id))}><Icon name="close" className="size-3.5" /></Button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex items-end gap-2">
        <Attach onFiles={(chosen) => void attach(chosen)} />
        <textarea
          ref={field} id={`message-${task.id}`} rows={2} className="field min-h-15" aria-label="Message" placeholder="Write to the thread… @ mentions" value={text} {...mention.attributes}
          onChange={(event) => write(event.target.value)}
          onSelect={(event) => mention.moved(event.currentTarget.selectionStart)}
          onPaste={(event) => event.clipboardData.files.length > 0 && (event.preventDefault(), void attach(event.clipboardData.files))}
          onKeyDown={(event) => {
            if (mention.heard(event) || event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <Button weight="main" busy={send.isPending} onClick={submit}>Send</Button>
      </div>
    </div>
  );
}

function upload(file: File): Promise<{ attachment: Sent }> {
  const form = new FormData();
  form.append("file", file, file.name || "file");
  return ask(api.POST("/api/attachments", { body: { file: "" }, bodySerializer: () => form }));
}

function Attach({ onFiles }: { onFiles: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button weight="bare" aria-label="Attach files" onClick={() => input.current?.click()}><Icon name="clip" /></Button>
      <input
        ref={input} type="file" multiple hidden aria-label="Files" tabIndex={-1}
        onChange={(event) => {
          if (event.target.files) onFiles(event.target.files);
          event.target.value = "";
        }}
      />
    </>
  );
}

/** Completion of names: what is typed behind an @ before the caret, and whom it may mean. */
function useMention(text: string, { agents, people }: Directory, field: React.RefObject<HTMLTextAreaElement | null>, write: (text: string) => void) {
  const list = useId();
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState("");
  const begun = /(^|\s)@([\w-]*)$/.exec(text.slice(0, caret))?.[2];
  const found: Party[] = begun === undefined || closed === text ? [] : [...agents, ...people]
    .filter(({ slug, name }) => slug.startsWith(begun.toLowerCase()) || name.toLowerCase().startsWith(begun.toLowerCase()))
    .slice(0, OFFERED_MOST);
  const chosen = found[Math.min(at, found.length - 1)];
  const take = ({ slug }: Party) => {
    const before = `${text.slice(0, caret - (begun?.length ?? 0))}${slug} `;
    write(before + text.slice(caret));
    setAt(0);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(before.length, before.length);
    });
  };
  const heard = (event: KeyboardEvent): boolean => {
    if (chosen === undefined || event.nativeEvent.isComposing) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") setAt((at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") take(chosen);
    else if (event.key === "Escape") setClosed(text);
    else return false;
    event.preventDefault();
    return true;
  };
  const menu = chosen && (
    <ul id={list} role="listbox" aria-label="Names" className="mb-1 w-60 rounded-lg border border-rule bg-leaf p-1 text-sm shadow-leaf">
      {found.map((party) => (
        <li
          key={party.slug} id={`${list}-${party.slug}`} role="option" aria-selected={party === chosen} className="flex justify-between gap-3 rounded-md px-2.5 py-1 aria-selected:bg-green-wash"
          onMouseDown={(event) => {
            event.preventDefault();
            take(party);
          }}
        >
          <span className="truncate">{party.name}</span><span className="note">@{party.slug}</span>
        </li>
      ))}
    </ul>
  );
  const attributes = chosen ? { "aria-controls": list, "aria-activedescendant": `${list}-${chosen.slug}`, "aria-autocomplete": "list" as const } : {};
  return { menu, heard, moved: setCaret, attributes };
}
