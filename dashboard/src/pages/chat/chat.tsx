// Chat: one session at a time with its live transcript, the other chats beside it, and its plan and auto mode.

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type DragEvent, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Run } from "../../data/api";
import { nameOfKey, splitKey, stateOfSession, titleOfSession } from "../../data/words";
import { useAgentName } from "../../ui/agent";
import { Button } from "../../ui/button";
import { ErrorState } from "../../ui/failure";
import { ReceiptDialog } from "../../ui/receipt";
import { NotFound } from "../../ui/shell/missing";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import { Composer, type ComposerHandle } from "./composer";
import { type Conversation, conversation } from "./conversation";
import { instanceId } from "./instance";
import type { Line } from "./items";
import { Modes } from "./modes";
import { Rail, RenameDialog, useNewChat } from "./rail";
import { chatSocket } from "./socket";
import { Transcript } from "./transcript";

// The question is still open; with any other refusal it is not.
const UNCLEAR = 400;
const FINE_POINTER = "(pointer: fine)";

/** `/chat`: leads to this browser's chat, or to a new one, each with an address of its own. */
function NewChat() {
  const { new: wanted, agent } = useSearch({ strict: false });
  const navigate = useNavigate();
  const fresh = useNewChat(true);
  const begun = useRef(false);
  const active = useQuery({ queryKey: ["recent", "active"], queryFn: lastChat, enabled: wanted === undefined, staleTime: 0, gcTime: 0 });
  const isFresh = wanted !== undefined || active.data === null;
  useEffect(() => {
    if (!isFresh || begun.current) return;
    begun.current = true;
    fresh.mutate(agent);
  }, [isFresh, agent, fresh]);
  useEffect(() => {
    if (active.data) void navigate({ to: "/chat/$", params: { _splat: active.data }, replace: true });
  }, [active.data, navigate]);
  return (
    <>
      <Title name="Chat" keepFocus />
      {active.isFetching && <SkeletonRows count={4} />}
      {active.isError && !active.isFetching && <ErrorState error={active.error} retry={() => void active.refetch()} />}
    </>
  );
}

/** Return the key of the chat that this browser had open last; null when there is none. */
async function lastChat(): Promise<string | null> {
  const query = { channelType: "web" as const, clientInstanceId: instanceId() };
  const active = await ask(api.GET("/api/sessions/active", { params: { query } }));
  if (active.source !== "default") return active.sessionKey;
  // The server names a key that comes into being with its first message, unless it is that of a chat.
  const { sessions } = await ask(api.GET("/api/sessions/recent", { params: { query } }));
  return sessions.some((session) => session.key === active.sessionKey) ? active.sessionKey : null;
}

export function Chat() {
  // The router takes `/chat` for the address of a chat with an empty key, so both routes come here.
  const { _splat: key = "" } = useParams({ strict: false });
  if (key === "") return <NewChat />;
  // What a link without a key leads to names no chat.
  if (key === "null" || key === "undefined") return <NotFound />;
  return (
    <div className="flex h-[calc(100dvh-3.6rem-var(--banner,0px))] flex-col lg:grid lg:h-[calc(100dvh-var(--banner,0px))] lg:grid-cols-[16rem_minmax(0,1fr)] lg:gap-x-7">
      <div className="flex min-h-0 flex-col max-lg:contents">
        <h1 className="pt-7 pb-2.5 text-[1.75rem] max-lg:sr-only">Chat</h1>
        <Rail current={key} />
      </div>
      <Pane key={key} sessionKey={key} />
    </div>
  );
}

function useConversation(key: string): Conversation {
  const chat = useMemo(() => conversation(key), [key]);
  useSyncExternalStore(chat.listen, chat.getVersion);
  return chat;
}

/** The open session: header, transcript and message field. It receives frames of its own session only. */
function Pane({ sessionKey: key }: { sessionKey: string }) {
  const chat = useConversation(key);
  const agentName = useAgentName();
  const navigate = useNavigate();
  const { receipt, panel } = useSearch({ from: "/chat/$" });
  const composer = useRef<ComposerHandle>(null);
  const [live, setLive] = useState(true);
  const [sent, setSent] = useState(0);
  const [renaming, setRenaming] = useState(false);
  const read = useQuery({ queryKey: ["session", key, "chat"], queryFn: ({ signal }) => chat.read(signal) });
  const title = chat.session === null ? nameOfKey(key) : titleOfSession(chat.session);
  const [wide] = useState(() => matchMedia("(min-width: 80rem)").matches);
  const showModes = panel === undefined ? wide : panel === "1";

  useEffect(() => chatSocket(key, (frame) => chat.receive(frame), setLive), [key, chat]);
  useEffect(() => {
    // On a touch screen, focus would open the keyboard over the transcript.
    if (matchMedia(FINE_POINTER).matches) composer.current?.focus();
  }, []);
  useEffect(() => {
    document.title = `${title} · Chat · Carrel`;
  }, [title]);
  const exists = chat.session !== null;
  useEffect(() => {
    // The chat that this browser returns to; other sessions belong to other channels. If this fails nothing is lost.
    if (!exists || !splitKey(key).rest.startsWith("web:")) return;
    api.POST("/api/sessions/active", { body: { channelType: "web", clientInstanceId: instanceId(), sessionId: key } }).catch(() => {});
  }, [key, exists]);

  const setSearch = useCallback((change: { receipt?: string; panel?: string }) => {
    void navigate({ to: "/chat/$", params: { _splat: key }, search: (now) => ({ ...now, ...change }), replace: "panel" in change });
  }, [navigate, key]);

  const send = useCallback(async (line: Line) => {
    setSent((count) => count + 1);
    const answer = await chat.send(line);
    if (answer === null) takeBack(chat, line, composer.current);
    else if (answer.sessionKey !== key) void navigate({ to: "/chat/$", params: { _splat: answer.sessionKey } });
  }, [chat, key, navigate]);

  const { mutate: fork } = useAction({
    act: (entryId: string) => ask(api.POST("/api/sessions/{key}/fork", { params: { path: { key } }, body: { entryId } })),
    failed: "Nothing was forked",
    stale: () => [["sessions"], ["recent"]],
    done: ({ sessionKey }) => void navigate({ to: "/chat/$", params: { _splat: sessionKey } }),
  });
  const acts = useMemo(() => ({
    fork,
    resend: (line: Line) => void send(line),
    discard: (line: Line) => chat.discard(line),
    showReceipt: (runId: string) => setSearch({ receipt: runId }),
  }), [chat, send, setSearch, fork]);

  const dropped = (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    composer.current?.attach(event.dataTransfer.files);
  };

  return (
    <section aria-label="Open chat" className="flex min-h-0 min-w-0 flex-1 gap-8" onDragOver={(event) => event.preventDefault()} onDrop={dropped}>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <header className="flex flex-wrap items-baseline gap-x-4 gap-y-1 border-b border-ink pt-2 pb-2.5 lg:pt-7">
          <h2 title={key} className="min-w-0 text-[1.35rem]">{title}</h2>
          <Facts chat={chat} />
          <div className="ml-auto flex items-center gap-1 self-center">
            {chat.session && <Button weight="plain" onClick={() => setRenaming(true)}>Rename</Button>}
            <Button weight="plain" aria-expanded={showModes} onClick={() => setSearch({ panel: showModes ? "0" : "1" })}>Plan and auto</Button>
          </div>
        </header>
        {read.isError && (chat.isRead ? <p role="alert" className="complaint">This chat may be out of date: {read.error.message}</p> : <ErrorState error={read.error} retry={() => void read.refetch()} />)}
        {chat.isRead && chat.items.length === 0 && <p className="py-8 font-serif text-lg text-soft italic">No messages yet.</p>}
        <Transcript sessionKey={key} items={chat.items} agent={agentName(splitKey(key).agent) || "Agent"} acts={acts} sent={sent} older={<Older chat={chat} />} />
        {!live && <p role="status" className="note">Live text is not available right now; replies appear when they are complete.</p>}
        <Composer
          ref={composer} sessionKey={key} asking={chat.asking} occupied={chat.occupied} working={chat.working}
          onSend={(text, answers, files, steers) => void send(chat.write(text, answers, files, steers))}
          onAnswered={(run: Run) => chat.answered(run.id)}
        />
      </div>
      {showModes && (
        <div className="grid min-h-0 w-64 shrink-0 grid-cols-[minmax(0,1fr)] content-start gap-4 overflow-y-auto pt-7 max-xl:fixed max-xl:inset-y-0 max-xl:right-0 max-xl:z-20 max-xl:w-[min(20rem,90vw)] max-xl:border-l max-xl:border-rule max-xl:bg-paper max-xl:px-4 max-xl:pt-16 max-xl:shadow-leaf">
          <Button weight="plain" className="justify-self-end xl:hidden" onClick={() => setSearch({ panel: "0" })}>Close</Button>
          <Modes sessionKey={key} title={title} exists={exists} />
        </div>
      )}
      <ReceiptDialog runId={receipt} onClose={() => setSearch({ receipt: undefined })} />
      {renaming && chat.session && <RenameDialog session={chat.session} onClose={() => setRenaming(false)} />}
    </section>
  );
}

// A text that the server did not take as an answer goes back into the field; without its word, it may have been taken.
function takeBack(chat: Conversation, line: Line, composer: ComposerHandle | null): void {
  if (line.answers === null || line.status < 400 || line.status >= 500) return;
  if (line.status !== UNCLEAR) {
    chat.answered(line.answers);
    line.answers = null;
  }
  if (composer?.takeBack(line)) chat.discard(line);
}

function Older({ chat }: { chat: Conversation }) {
  const [busy, setBusy] = useState(false);
  if (chat.olderCursor === null) return null;
  const load = () => {
    setBusy(true);
    void chat.readOlder().finally(() => setBusy(false));
  };
  return <div className="flex justify-center pb-4"><Button busy={busy} onClick={load}>{busy ? "Loading…" : "Show older messages"}</Button></div>;
}

function Facts({ chat }: { chat: Conversation }) {
  const nameOf = useAgentName();
  if (chat.isNew) return <p className="note">New chat; it opens with your first message.</p>;
  if (chat.session === null) return null;
  const { agentSlug, generation, queuedRuns } = chat.session;
  const state = stateOfSession(chat.session);
  const look = state === "busy" ? "text-green!" : state === "waiting" ? "text-brass!" : "";
  const facts = [nameOf(agentSlug), state, generation > 0 ? `generation ${generation}` : "not opened yet", queuedRuns > 0 ? `${queuedRuns} queued` : ""];
  return <p aria-label="Facts" className={`note ${look}`}>{facts.filter(Boolean).join(" · ")}</p>;
}
