// A small plot over time, drawn by uPlot in our colours. Its figures are also a table for whoever cannot see it.

import { useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export type Line = { name: string; tone: "green" | "brass" | "red" | "ink-soft"; values: (number | null)[] };

type Props = {
  /** What is plotted, for screen readers and as the caption. */
  name: string;
  /** Milliseconds, ascending. */
  times: number[];
  lines: Line[];
  unit?: string;
  height?: number;
  bars?: boolean;
};

const MARGIN: [number, number, number, number] = [8, 8, 0, 0];

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
      const axis: UPlot.Axis = { stroke: colour("ink-soft"), grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
      plot = new UPlot({
        width: place.clientWidth, height, padding: MARGIN, cursor: { y: false }, legend: { show: false },
        series: [{}, ...lines.map(({ name: label, tone }) => ({
          label, stroke: colour(tone), width: 1.5, fill: bars ? colour(tone) : undefined, paths: bars ? UPlot.paths.bars?.({ size: [0.7, 40] }) : undefined,
          points: { show: false },
        }))],
        // Without values the axis would reach to a hundred.
        scales: { y: { range: (_self, _least, most) => [0, most > 0 ? most * 1.05 : 1] } },
        axes: [axis, { ...axis, size: 56, values: (_self, ticks) => ticks.map((tick) => `${tick.toLocaleString("en")}${unit}`) }],
      }, [times.map((time) => time / 1000), ...lines.map((line) => line.values)], place);
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
        <tbody>{times.map((time, i) => <tr key={time}><td>{new Date(time).toLocaleString()}</td>{lines.map((line) => <td key={line.name}>{line.values[i] ?? "none"}{unit}</td>)}</tr>)}</tbody>
      </table></div>
    </figure>
  );
}
