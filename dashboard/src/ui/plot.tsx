// A small plot over time, drawn by uPlot in our colours. Its figures are also a table for whoever cannot see it.

import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { compact, timeFormat } from "../data/words";
import "uplot/dist/uPlot.min.css";

export type Line = { name: string; tone: "green" | "brass" | "red" | "ink-soft"; values: (number | null)[] };

type Props = {
  /** What is plotted, for screen readers and as the caption. */
  name: string;
  /** Milliseconds, ascending. */
  times: number[];
  lines: Line[];
  /** Stands before every figure. */
  unit?: string;
  height?: number;
  bars?: boolean;
};

const MARGIN: [number, number, number, number] = [8, 8, 0, 0];
const MINUTE = 60;
const DAY = 86_400;
// From one mark to the next, in seconds: whole minutes, hours or days.
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * MINUTE).concat([1, 2, 3, 5, 7, 14, 30].map((days) => days * DAY));
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
const CLOCK = timeFormat({ hour: "2-digit", minute: "2-digit" });
// Days are counted in UTC, so that is how they are named.
const DATE = timeFormat({ month: "short", day: "numeric", timeZone: "UTC" });

export function Plot({ name, times, lines, unit = "", height = 120, bars = false }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = frame.current;
    if (place === null) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let plot: UPlot | null = null;
    const draw = () => {
      plot?.destroy();
      const style = getComputedStyle(document.documentElement);
      const colour = (token: string) => style.getPropertyValue(`--${token}`).trim();
      const [first = 0, second = first, last = first] = [times[0], times[1], times.at(-1)].map((time) => (time ?? 0) / 1000);
      // Bars stand on their moment, so the outer ones need half a step more.
      const half = bars ? (second - first) / 2 : 0;
      const isWhole = lines.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
      const axis: UPlot.Axis = { stroke: colour("ink-soft"), grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
      plot = new UPlot({
        width: place.clientWidth, height, padding: MARGIN, cursor: { y: false }, legend: { show: false },
        series: [{}, ...lines.map(({ name: label, tone }) => ({
          label, stroke: colour(tone), width: 1.5, fill: bars ? colour(tone) : undefined, paths: bars ? UPlot.paths.bars?.({ size: [0.7, 40] }) : undefined,
          points: { show: false },
        }))],
        // Without values the axis would reach to a hundred.
        tzDate: bars ? (time) => UPlot.tzDate(new Date(time * 1000), "Etc/UTC") : undefined,
        scales: { x: { range: () => [first - half, last + half] }, y: { range: (_self, _least, most) => [0, most > 0 ? most * 1.05 : 1] } },
        axes: [
          { ...axis, size: 30, space: 60, incrs: bars ? TIME_STEPS.filter((step) => step >= DAY) : TIME_STEPS, values: (_self, ticks) => ticks.map((tick) => (bars ? DATE : CLOCK)(tick * 1000)) },
          { ...axis, size: 56, space: 28, incrs: isWhole ? WHOLE_STEPS : undefined, values: (_self, ticks) => ticks.map((tick) => `${unit}${tick >= 1_000 ? compact(tick) : tick.toLocaleString("en")}`) },
        ],
      }, [times.map((time) => time / 1000), ...lines.map(({ values }) => (bars ? values.map((value) => value || null) : values))], place);
    };
    draw();
    const resizing = new ResizeObserver(() => plot?.setSize({ width: place.clientWidth, height }));
    resizing.observe(place);
    dark.addEventListener("change", draw);
    return () => {
      dark.removeEventListener("change", draw);
      resizing.disconnect();
      plot?.destroy();
    };
  }, [times, lines, unit, height, bars]);
  return (
    <figure className="min-w-0">
      <figcaption className="note">{name}</figcaption>
      <div ref={frame} aria-hidden="true" className="w-full overflow-hidden" />
      {/* A table is never narrower than its words, so it hides in something that is. */}
      <div className="sr-only"><table>
        <caption>{name}</caption>
        <thead><tr><th>Time</th>{lines.map((line) => <th key={line.name}>{line.name}</th>)}</tr></thead>
        <tbody>{times.map((time, i) => <tr key={time}><td>{new Date(time).toLocaleString()}</td>{lines.map((line) => <td key={line.name}>{worded(line.values[i], unit)}</td>)}</tr>)}</tbody>
      </table></div>
    </figure>
  );
}

const worded = (value: number | null | undefined, unit: string): string => (value === null || value === undefined ? "none" : `${unit}${value}`);
