// The notification bell: how many are unread, and a panel that lists them, live.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useAction } from "../../data/action";
import { api, ask, type Notification } from "../../data/api";
import { notificationsQuery } from "../../data/queries";
import { nameOfKey } from "../../data/words";
import { Age } from "../age";
import { Button } from "../button";
import { Icon } from "../icon";

const SHOWN_FIRST = 20;
const SHOWN_MOST = 200;
const COUNTED_MOST = 99;

export function Bell() {
  const [open, setOpen] = useState(false);
  const [shown, setShown] = useState(SHOWN_FIRST);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const { data, error } = useQuery(notificationsQuery(shown));
  const unread = data?.unreadCount ?? 0;
  const readAll = useAction({
    act: () => ask(api.POST("/api/notifications/read-all")),
    failed: "The notifications were not marked",
    stale: () => [["notifications"]],
  });

  useEffect(() => {
    if (!open) return;
    const ending = new AbortController();
    const { signal } = ending;
    document.addEventListener("pointerdown", (event) => frame.current?.contains(event.target as Node) || setOpen(false), { signal });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      setOpen(false);
      button.current?.focus();
    }, { signal });
    return () => ending.abort();
  }, [open]);

  return (
    <div ref={frame} className="max-lg:mr-2 lg:relative">
      <Button
        ref={button} weight="bare" aria-expanded={open} aria-controls="notifications" className="relative"
        aria-label={data === undefined ? "Notifications" : `Notifications, ${unread === 0 ? "none" : unread} unread`}
        onClick={() => { setOpen(!open); setShown(SHOWN_FIRST); }}
      >
        <Icon name="bell" className="size-[1.3rem]" />
        {unread > 0 && (
          <span aria-hidden="true" className="absolute -top-0.5 left-[1.05rem] min-w-[1.1rem] rounded-full bg-red px-1 text-center text-[0.6875rem] leading-[1.35] font-semibold text-paper">
            {unread > COUNTED_MOST ? `${COUNTED_MOST}+` : unread}
          </span>
        )}
      </Button>
      {open && (
        <section id="notifications" aria-label="Notifications" className="leaf fixed inset-x-3 top-14 z-40 max-h-[calc(100dvh-5rem)] overflow-y-auto overscroll-contain px-5 pb-4 lg:absolute lg:inset-x-auto lg:top-full lg:left-0 lg:mt-1 lg:w-[27rem]">
          <div className="sticky top-0 flex items-baseline justify-between gap-4 bg-leaf pt-3.5 pb-1.5">
            <h2 className="text-xl">Notifications</h2>
            {unread > 0 && <Button weight="plain" busy={readAll.isPending} onClick={() => readAll.mutate()}>Mark all read</Button>}
          </div>
          {error && <p role="alert" className="complaint">This list may be out of date: {error.message}</p>}
          <p className="note pb-2">{noteOf(data, shown)}</p>
          <ul>{data?.notifications.map((each) => <Notice key={each.id} notice={each} onOpen={() => setOpen(false)} />)}</ul>
          {data?.nextCursor && shown < SHOWN_MOST && <Button className="mt-3" onClick={() => setShown(SHOWN_MOST)}>Show older</Button>}
        </section>
      )}
    </div>
  );
}

function noteOf(data: { notifications: Notification[]; unreadCount: number; nextCursor: string | null } | undefined, shown: number): string {
  if (data === undefined) return "Loading…";
  if (data.notifications.length === 0) return "No notifications yet.";
  if (data.nextCursor !== null && shown === SHOWN_MOST) return `The newest ${SHOWN_MOST}.`;
  return data.unreadCount === 0 ? "All read." : `${data.unreadCount} unread`;
}

/** One notification; opening it marks it as read and leads to its session, else to its task. */
function Notice({ notice, onOpen }: { notice: Notification; onOpen: () => void }) {
  const unread = notice.readAt === null;
  const opened = () => {
    onOpen();
    // The stream reports the change; if the request fails, the notification stays unread, which is still true.
    if (unread) api.POST("/api/notifications/{id}/read", { params: { path: { id: notice.id } } }).catch(() => {});
  };
  const edge = !unread ? "border-l-transparent" : notice.type === "run_undelivered" ? "border-l-brass-edge" : "border-l-red-edge";
  return (
    <li className={`-ml-3.5 border-t border-l-[3px] border-t-rule py-2.5 pl-[calc(0.85rem-3px)] ${edge}`}>
      <p className={`font-serif ${unread ? "font-semibold" : ""}`}>
        <Place notice={notice} onClick={opened}>{unread && <span className="sr-only">Unread: </span>}{notice.title}</Place>
      </p>
      <p className="mt-0.5 line-clamp-3 text-sm whitespace-pre-line text-soft">{notice.body}</p>
      <p className="mt-1 flex justify-between gap-4 text-xs text-soft">
        <span>{notice.sessionKey === null ? "Task" : nameOfKey(notice.sessionKey)}</span><Age at={notice.createdAt} ago />
      </p>
    </li>
  );
}

function Place({ notice, onClick, children }: { notice: Notification; onClick: () => void; children: ReactNode }) {
  const look = { className: "block hover:underline", onClick };
  if (notice.sessionKey !== null) return <Link to="/chat/$" params={{ _splat: notice.sessionKey }} {...look}>{children}</Link>;
  if (notice.taskId !== null) return <Link to="/tasks/$id" params={{ id: notice.taskId }} {...look}>{children}</Link>;
  return <Link to="/" {...look}>{children}</Link>;
}
