// One delivery beside the list: what it was, what became of it, and its body.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { capital } from "../../data/words";
import { Age } from "../../ui/age";
import { Button } from "../../ui/button";
import { Loaded } from "../../ui/failure";
import { Ident } from "../../ui/ident";
import { Peek } from "../../ui/peek";
import { SkeletonRows } from "../../ui/skeleton";
import { StateBadge } from "../../ui/state";
import { type Delivery, deliveryQuery, useRedelivery } from "./queries";

export const Outcome = ({ of }: { of: Delivery["outcome"] }) => <StateBadge state={of === "failed" ? "failed" : of === "done" ? "ok" : "idle"} label={capital(of)} />;

/** A link to what a delivery has made. */
export function Made({ delivery: { taskId, runId } }: { delivery: Delivery }) {
  if (taskId) return <Link to="/tasks/$id" params={{ id: taskId }} className="underline">Open the task</Link>;
  if (runId) return <Link to="/runs/$id" params={{ id: runId }} className="underline">Open the run</Link>;
  return <span className="text-soft">nothing</span>;
}

export function DeliveryPeek({ id, onClose }: { id: string; onClose: () => void }) {
  const redelivery = useRedelivery();
  const query = useQuery(deliveryQuery(id));
  const title = query.data?.delivery.title ?? "Delivery";
  return (
    <Peek title={title} onClose={onClose} actions={query.data?.delivery.canRepeat && <Button small busy={redelivery.isPending} onClick={() => redelivery.mutate(id)}>Redeliver</Button>}>
      <Loaded query={query} waiting={<SkeletonRows />}>
        {({ delivery }) => (
          <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
            <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm [&_dt]:text-soft">
              <dt>Outcome</dt><dd><Outcome of={delivery.outcome} />{delivery.reason && <span className="note block">{delivery.reason}</span>}</dd>
              <dt>Made</dt><dd><Made delivery={delivery} /></dd>
              <dt>Webhook</dt><dd>{delivery.webhook}</dd>
              <dt>Event</dt><dd>{delivery.event}{delivery.author && `, by ${delivery.author}`}</dd>
              <dt>Received</dt><dd><Age at={delivery.receivedAt} ago /></dd>
              {delivery.attempts > 1 && <><dt>Attempts</dt><dd>{delivery.attempts}, the last one <Age at={delivery.attemptedAt} ago /></dd></>}
              <dt>Id</dt><dd><Ident text={delivery.id} /></dd>
            </dl>
            <section aria-label="Body">
              <h3 className="border-b border-rule pb-1 text-base">Body</h3>
              {delivery.payload === null ? <p className="note pt-2">It is no longer kept.</p> : <pre tabIndex={0} className="code wrap mt-2">{JSON.stringify(delivery.payload, null, 2)}</pre>}
            </section>
          </div>
        )}
      </Loaded>
    </Peek>
  );
}
