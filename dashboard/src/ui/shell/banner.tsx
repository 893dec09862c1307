// A banner while a gateway does not answer: which one, since when, and what to do.

import { useQuery } from "@tanstack/react-query";
import { healthQuery } from "../../data/queries";
import { Age } from "../age";

/** Tell pages that are as high as the window how much of it the banner takes. */
function measured(banner: HTMLElement | null) {
  const { style } = document.documentElement;
  const seen = new ResizeObserver(() => style.setProperty("--banner", `${banner?.offsetHeight ?? 0}px`));
  if (banner) seen.observe(banner);
  return () => {
    seen.disconnect();
    style.removeProperty("--banner");
  };
}

export function GatewayBanner() {
  const { data } = useQuery(healthQuery());
  const down = data?.gateways.find((one) => one.status !== "ok");
  if (down === undefined) return null;
  return (
    <p ref={measured} role="status" aria-label="Gateways" className="border-b border-brass-edge px-4 py-2 text-sm text-pretty text-brass lg:px-10">
      {down.lastError} {/* One that is not configured was never up. */}
      {down.kind && <span className="whitespace-nowrap">Down for <Age at={down.since} />.</span>}
    </p>
  );
}
