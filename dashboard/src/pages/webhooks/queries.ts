// What the page Webhooks reads and does. The event `webhook.delivered` makes all of it out of date.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { useAction } from "../../data/action";
import { api, ask, readAll, type Shapes } from "../../data/api";
import { toast } from "../../ui/toast";
import type { WebhooksSearch } from "./address";

export type Webhook = Shapes["WebhookShape"];
export type Delivery = Shapes["DeliveryShape"];

const PAGE = 100;

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: ({ signal }) => ask(api.GET("/api/hooks/in", { signal })),
});

export const deliveriesQuery = ({ webhook, outcome }: WebhooksSearch) => queryOptions({
  queryKey: ["webhooks", "deliveries", webhook, outcome],
  queryFn: ({ signal }) => readAll(
    (cursor) => ask(api.GET("/api/hooks/in/deliveries", { params: { query: { limit: PAGE, webhook, outcome, cursor } }, signal })),
    (page) => page.deliveries,
    1,
  ),
  placeholderData: keepPreviousData,
});

export const deliveryQuery = (id: string) => queryOptions({
  queryKey: ["webhooks", "delivery", id],
  queryFn: ({ signal }) => ask(api.GET("/api/hooks/in/deliveries/{id}", { params: { path: { id } }, signal })),
});

/** Carry a delivery out again, and say what became of it. */
export const useRedelivery = () => useAction({
  act: (id: string) => ask(api.POST("/api/hooks/in/deliveries/{id}/redeliver", { params: { path: { id } } })),
  failed: "The delivery was not carried out again",
  stale: () => [["webhooks"]],
  done: ({ delivery }) => toast(delivery.outcome === "done" ? { text: "Done." } : { tone: "failure", text: `It ${delivery.outcome === "failed" ? "failed" : "was ignored"} again: ${delivery.reason ?? ""}` }),
});
