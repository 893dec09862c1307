// What an address has open beside a list, and what becomes of an address that names nothing.

import { type QueryKey, useIsFetching } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { toast } from "./toast";

// Longer than it takes until something that was just created is in its list.
const PATIENCE_MS = 1_200;

type Named = {
  /** What the address names; undefined when it names nothing. */
  wanted: string | undefined;
  /** The key of the list that would hold it. */
  queryKey: QueryKey;
  /** What to say when it is not there. */
  gone: string;
  /** Take it out of the address. */
  forget: () => void;
};

/** Return the row that the address names. One that is not there is said to be gone, and leaves the address. */
export function useOpened<Row>(rows: Row[], is: (row: Row, wanted: string) => boolean, { wanted, queryKey, gone, forget }: Named): Row | undefined {
  const open = wanted === undefined ? undefined : rows.find((row) => is(row, wanted));
  const isReading = useIsFetching({ queryKey }) > 0;
  const isGone = wanted !== undefined && open === undefined && !isReading;
  const act = useRef(forget);
  act.current = forget;
  useEffect(() => {
    if (!isGone) return;
    const timer = setTimeout(() => {
      toast({ text: gone });
      act.current();
    }, PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isGone, wanted, gone]);
  return open;
}
