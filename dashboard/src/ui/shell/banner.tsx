// A banner while a gateway does not answer: which one, since when, and what to do.

import { useQuery } from "@tanstack/react-query";
import { healthQuery } from "../../data/queries";
import { Age } from "../age";

export function GatewayBanner() {
  const { data } = useQuery(healthQuery());
  const down = data?.gateways.find((one) => one.status !== "ok");
  if (down === undefined) return null;
  return (
    <p role="status" aria-label="Gateways" className="border-y border-brass-edge px-4 py-2 text-sm text-brass lg:px-10">
      {down.lastError} {/* One that is not configured was never up. */}
      {down.kind && <span>Down for <Age at={down.since} />.</span>}
    </p>
  );
}
