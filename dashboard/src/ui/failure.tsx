// What a page shows when something could not be read: the server's sentence, the request's id, and a way to try again.

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isAway, Refusal } from "../data/api";
import { Button } from "./button";
import { Empty } from "./empty";
import { Title } from "./title";

export function ErrorState({ error, retry, title = "This could not be read" }: { error: unknown; retry?: () => void; title?: string }) {
  if (isAway(error)) return <Away />;
  if (error instanceof Refusal && error.status === 404) return <Empty title="Not found"><p>{error.message}</p></Empty>;
  const request = error instanceof Refusal ? error.requestId : null;
  return (
    <div role="alert" className="my-6 grid max-w-[44rem] justify-items-start gap-2 rounded-r-lg border-l-[3px] border-red-edge bg-red-wash px-4 py-3">
      <p className="font-serif text-lg">{title}</p>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {request && <p className="note font-mono">Request {request}</p>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Nothing is wrong with the page, and nothing has to be done: it is there when the server is. */
export function Away() {
  return (
    <p role="status" aria-label="Waiting for the server" className="flex items-center gap-2.5 py-8 text-soft">
      <span aria-hidden="true" className="size-2 animate-breathe rounded-full bg-brass-edge" />Reconnecting. This page opens by itself when the server is back.
    </p>
  );
}

type Props<Data> = {
  query: UseQueryResult<Data>;
  waiting?: ReactNode;
  /** The heading of the page as long as there is nothing to show that has one of its own. */
  heading?: string;
  children: (data: Data) => ReactNode;
};

/** Show what a query read, `waiting` until it has, or why it could not. What was read before stays while it is read again. */
export function Loaded<Data>({ query, waiting, heading, children }: Props<Data>) {
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && !isAway(query.error) && <p role="alert" className="complaint py-1">This may be out of date: {query.error.message}</p>}
        {children(query.data)}
      </>
    );
  }
  return (
    <>
      {heading && <Title name={heading} />}
      {query.isError
        ? <ErrorState error={query.error} retry={() => void query.refetch()} />
        : waiting ?? <p className="note py-6">Loading…</p>}
    </>
  );
}
