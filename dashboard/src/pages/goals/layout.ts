// A layered layout of tasks, from left to right. A line that passes a column has a lane of its own there, so that no line
// goes behind a box.

import type { Task } from "../../data/api";

export type Node = { task: Task; x: number; y: number };
export type Line = { id: string; status: Task["status"]; points: [number, number][] };
export type Graph = { nodes: Node[]; lines: Line[]; width: number; height: number };

export const BOX = { width: 184, height: 74 };
const GAP_X = 44;
const GAP_Y = 14;
const LANE_PX = 10;

type Slot = { id: string; height: number; before: string[]; middle: number };

/** Lay tasks out, each one column behind the last of those it waits for. */
export function layOut(tasks: Task[]): Graph {
  const depths = depthsOf(tasks);
  const columns: Slot[][] = [];
  const put = (depth: number, slot: Omit<Slot, "middle">) => (columns[depth] ??= []).push({ ...slot, middle: 0 });
  const ways = new Map<string, string[]>();
  for (const task of tasks) {
    const depth = depths.get(task.id) ?? 0;
    const before = task.dependencies.filter((id) => depths.has(id) && (depths.get(id) ?? 0) < depth).map((id) => {
      const way = [id];
      for (let at = (depths.get(id) ?? 0) + 1; at < depth; at += 1) {
        const lane = `${id} ${task.id} ${at}`;
        put(at, { id: lane, height: LANE_PX, before: [way.at(-1) ?? id] });
        way.push(lane);
      }
      ways.set(`${id} ${task.id}`, [...way, task.id]);
      return way.at(-1) ?? id;
    });
    put(depth, { id: task.id, height: BOX.height, before });
  }
  const height = place(columns);
  return { ...drawn(tasks, depths, columns, ways), width: columns.length * (BOX.width + GAP_X) - GAP_X, height };
}

/** Return in which column each task stands; a circle, which the server does not allow, ends where it closes. */
function depthsOf(tasks: Task[]): Map<string, number> {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const depths = new Map<string, number>();
  const visit = (task: Task, above: ReadonlySet<string>): number => {
    const stored = depths.get(task.id);
    if (stored !== undefined) return stored;
    const inside = new Set([...above, task.id]);
    const depth = task.dependencies.reduce((most, id) => {
      const other = known.get(id);
      return other === undefined || inside.has(id) ? most : Math.max(most, visit(other, inside) + 1);
    }, 0);
    depths.set(task.id, depth);
    return depth;
  };
  for (const task of tasks) visit(task, new Set());
  return depths;
}

/** Give every slot its middle: beside what it follows, columns one under the other, all around one line. Returns the height. */
function place(columns: Slot[][]): number {
  const heights = columns.map((slots) => slots.reduce((sum, { height }) => sum + height + GAP_Y, -GAP_Y));
  const tallest = Math.max(0, ...heights);
  const middles = new Map<string, number>();
  const wish = ({ before }: Slot): number => before.reduce((sum, id) => sum + (middles.get(id) ?? 0), 0) / Math.max(1, before.length);
  columns.forEach((slots, depth) => {
    slots.sort((one, other) => wish(one) - wish(other));
    let top = (tallest - (heights[depth] ?? 0)) / 2;
    for (const slot of slots) {
      slot.middle = top + slot.height / 2;
      middles.set(slot.id, slot.middle);
      top += slot.height + GAP_Y;
    }
  });
  return tallest;
}

function drawn(tasks: Task[], depths: Map<string, number>, columns: Slot[][], ways: Map<string, string[]>): Pick<Graph, "nodes" | "lines"> {
  const spots = new Map(columns.flatMap((slots, depth) => slots.map((slot): [string, [number, number]] => [slot.id, [depth * (BOX.width + GAP_X), slot.middle]])));
  const nodes = tasks.map((task) => ({ task, x: (depths.get(task.id) ?? 0) * (BOX.width + GAP_X), y: (spots.get(task.id)?.[1] ?? 0) - BOX.height / 2 }));
  const status = new Map(tasks.map((task) => [task.id, task.status]));
  const lines = [...ways].map(([id, way]): Line => ({
    id,
    status: status.get(way[0] ?? "") ?? "inbox",
    points: way.flatMap((slot, i): [number, number][] => {
      const [x, y] = spots.get(slot) ?? [0, 0];
      if (i === 0) return [[x + BOX.width, y]];
      return i === way.length - 1 ? [[x, y]] : [[x, y], [x + BOX.width, y]];
    }),
  }));
  return { nodes, lines };
}

/** Return the path of a line: curves between the columns, straight through them. */
export function pathOf({ points }: Line): string {
  return points.map(([x, y], i) => {
    const [px, py] = points[i - 1] ?? [x, y];
    if (i === 0) return `M${x} ${y}`;
    return py === y ? `L${x} ${y}` : `C${(px + x) / 2} ${py} ${(px + x) / 2} ${y} ${x} ${y}`;
  }).join(" ");
}
