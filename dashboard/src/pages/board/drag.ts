// Where a dragged card would land, by mouse, touch and keyboard.

import {
  closestCorners, type ClientRect, type CollisionDetection, type DragMoveEvent, type DroppableContainer, KeyboardCode,
  type KeyboardCoordinateGetter, pointerWithin,
} from "@dnd-kit/core";
import type { Task } from "../../data/api";
import type { ColumnStatus } from "../../data/moves";
import type { Place } from "../../data/tasks";
import type { Drop } from "./column";

const isCard = (id: unknown): boolean => String(id).startsWith("card:");

/** The card under the pointer, else the column; with the keyboard the nearest of either. */
export const landing: CollisionDetection = (world) => {
  if (world.pointerCoordinates === null) return closestCorners(world);
  const under = pointerWithin(world);
  const card = under.find(({ id }) => isCard(id));
  return card ? [card] : under.slice(0, 1);
};

type Target = { status: ColumnStatus; id: string | null };

/** Return where the card would be put if it were let go now. */
export function dropOf({ active, over }: DragMoveEvent, columns: Record<ColumnStatus, Task[]>): Drop | null {
  const target = over?.data.current as Target | undefined;
  const rect = active.rect.current.translated;
  if (over === null || target === undefined || rect === null) return null;
  const { status, id } = target;
  const dragged = (active.data.current as { task: Task }).task;
  if (id === null) return { status, id: columns[status].at(-1)?.id ?? null, edge: "after" };
  if (id === dragged.id) return null;
  const middle = rect.top + rect.height / 2 - (over.rect.top + over.rect.height / 2);
  if (Math.abs(rect.top - over.rect.top) > 2) return { status, id, edge: middle < 0 ? "before" : "after" };
  // The keyboard puts it exactly on another card: it takes that place.
  const places = columns[status].map((task) => task.id);
  const later = dragged.status === status && places.indexOf(dragged.id) < places.indexOf(id);
  return { status, id, edge: later ? "after" : "before" };
}

/** Return what to tell the server about a place, and the rank that the task will have there, until the server says it. */
export function placeOf(drop: Drop, tasks: Task[], dragged: Task): { place: Place; position: number } {
  const others = tasks.filter((task) => task.id !== dragged.id);
  const at = others.findIndex((task) => task.id === drop.id);
  const neighbour = others[at];
  if (neighbour === undefined) return { place: {}, position: (others[0]?.position ?? 1) - 1 };
  const beyond = others[drop.edge === "before" ? at - 1 : at + 1];
  const position = beyond === undefined ? neighbour.position + (drop.edge === "before" ? -1 : 1) : (neighbour.position + beyond.position) / 2;
  return { place: drop.edge === "before" ? { beforeId: neighbour.id } : { afterId: neighbour.id }, position };
}

type Spot = { rect: ClientRect; target: Target; isColumn: boolean };

/** With the arrows a lifted card goes from card to card, and to the top of the next column. */
export const walk: KeyboardCoordinateGetter = (event, { context }) => {
  const { active, collisionRect, droppableContainers, droppableRects } = context;
  if (!collisionRect || active === null) return undefined;
  const spots = droppableContainers.getEnabled().flatMap((each) => spotOf(each, droppableRects.get(each.id)));
  const columns = spots.filter((spot) => spot.isColumn).sort((one, other) => one.rect.left - other.rect.left);
  const middle = collisionRect.left + collisionRect.width / 2;
  const now = columns.findIndex(({ rect }) => middle >= rect.left && middle <= rect.left + rect.width);
  const cardsOf = (status: ColumnStatus | undefined) => spots
    .filter((spot) => !spot.isColumn && spot.target.status === status && spot.target.id !== active.id)
    .sort((one, other) => one.rect.top - other.rect.top);
  const to = nextSpot(event.code, columns, now, cardsOf, collisionRect);
  if (to === undefined) return undefined;
  event.preventDefault();
  return { x: to.rect.left + (to.isColumn ? 8 : 0), y: to.rect.top + (to.isColumn ? 40 : 0) };
};

function nextSpot(code: string, columns: Spot[], now: number, cardsOf: (status: ColumnStatus | undefined) => Spot[], rect: ClientRect): Spot | undefined {
  const here = cardsOf(columns[now]?.target.status);
  switch (code) {
    case KeyboardCode.Down: return here.find((spot) => spot.rect.top > rect.top + 1);
    case KeyboardCode.Up: return here.findLast((spot) => spot.rect.top < rect.top - 1);
    case KeyboardCode.Right:
    case KeyboardCode.Left: {
      const column = columns[now + (code === KeyboardCode.Right ? 1 : -1)];
      return cardsOf(column?.target.status)[0] ?? column;
    }
    default: return undefined;
  }
}

function spotOf(container: DroppableContainer, rect: ClientRect | undefined): Spot[] {
  const target = container.data.current as Target | undefined;
  return rect === undefined || target === undefined ? [] : [{ rect, target, isColumn: target.id === null }];
}
