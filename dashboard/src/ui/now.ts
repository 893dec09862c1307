// The present, for what is drawn against it: changes once a second while something on the page is still going on.

import { useEffect, useState } from "react";

const EVERY_MS = 1_000;

export function useNow(isMoving: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(Date.now());
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [isMoving]);
  return now;
}
