// A table of rows that can be opened, chosen and walked with `j` and `k`. Long ones draw only the rows in view.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { useRowKeys } from "./keys";

export type Column<Row> = {
  name: string;
  cell: (row: Row) => ReactNode;
  /** Classes of the cell and its heading: width, alignment, where it is hidden. */
  className?: string;
  /** Show the heading only to screen readers. */
  bare?: boolean;
};

type Props<Row> = {
  /** What the table lists, for screen readers. */
  name: string;
  rows: Row[];
  columns: Column<Row>[];
  idOf: (row: Row) => string;
  /** What a row is called, for the name of its checkbox. */
  titleOf: (row: Row) => string;
  onOpen?: (row: Row) => void;
  /** The row that is open beside the table. */
  openId?: string | null;
  /** The ids of the chosen rows; without it rows cannot be chosen. */
  chosen?: ReadonlySet<string>;
  onChoose?: (chosen: ReadonlySet<string>) => void;
};

const ROW_PX = 44;
const DRAWN_WHOLE_MOST = 80;

export function Table<Row>({ name, rows, columns, idOf, titleOf, onOpen, openId = null, chosen, onChoose }: Props<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0), []);
  useRowKeys(body);
  const whole = rows.length <= DRAWN_WHOLE_MOST;
  const virtual = useWindowVirtualizer({ count: whole ? 0 : rows.length, estimateSize: () => ROW_PX, overscan: 12, scrollMargin: top });
  const drawn = virtual.getVirtualItems();
  const before = whole ? 0 : (drawn[0]?.start ?? top) - top;
  const after = whole ? 0 : virtual.getTotalSize() - ((drawn.at(-1)?.end ?? top) - top);
  const shown = whole ? rows : drawn.map((item) => rows[item.index]).filter((row) => row !== undefined);
  const span = columns.length + (chosen === undefined ? 0 : 1);

  const choose = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChoose?.(next);
  };

  return (
    <table aria-label={name} aria-rowcount={rows.length} className="w-full border-collapse text-left">
      <thead>
        <tr className="border-b border-rule text-[0.8125rem] text-soft">
          {chosen !== undefined && (
            <th className="w-8 py-1.5 pr-3 font-normal">
              <input
                type="checkbox"
                aria-label="Choose all"
                className="accent-green"
                checked={rows.length > 0 && chosen.size === rows.length}
                onChange={() => onChoose?.(new Set(chosen.size === rows.length ? [] : rows.map(idOf)))}
              />
            </th>
          )}
          {columns.map((column) => (
            <th key={column.name} scope="col" className={`py-1.5 pr-4 font-normal whitespace-nowrap ${column.className ?? ""}`}>
              {/* A column's classes may set the size of its cells, not that of its heading. */}
              <span className={column.bare ? "sr-only" : "text-[0.8125rem] text-soft"}>{column.name}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {before > 0 && <tr aria-hidden="true"><td colSpan={span} style={{ height: before }} /></tr>}
        {shown.map((row) => {
          const id = idOf(row);
          return (
            <tr
              key={id}
              data-row=""
              tabIndex={onOpen ? 0 : -1}
              aria-current={id === openId || undefined}
              onClick={(event) => (event.target as HTMLElement).closest("a, button, input, label") || onOpen?.(row)}
              onKeyDown={(event) => {
                if (event.target !== event.currentTarget) return;
                if (event.key === "Enter") onOpen?.(row);
                if (event.key === "x" && chosen !== undefined) choose(id);
              }}
              className={`h-11 border-b border-rule align-middle hover:bg-green-wash/50 aria-[current]:bg-green-wash ${onOpen ? "cursor-pointer" : ""}`}
            >
              {chosen !== undefined && (
                <td className="w-8 pr-3"><input type="checkbox" className="accent-green" aria-label={`Choose ${titleOf(row)}`} checked={chosen.has(id)} onChange={() => choose(id)} /></td>
              )}
              {columns.map((column) => <td key={column.name} className={`py-1.5 pr-4 ${column.className ?? ""}`}>{column.cell(row)}</td>)}
            </tr>
          );
        })}
        {after > 0 && <tr aria-hidden="true"><td colSpan={span} style={{ height: after }} /></tr>}
      </tbody>
    </table>
  );
}
