// The cells along a line through the picture.
import { readBox, type Look } from "../cells";
import type { Loaded } from "../model";
import { seriesOf, type Series } from "../series";

/** A cell: its column and row. */
export type Cell = readonly [number, number];

/** The most cells along a line, and those whose box is read at once. */
export const LINE_MAX = 20_000;
const PART_MAX = 256;

/** The cells nearest to points of the line that are one column or one row apart, whichever is more. */
export function cellsOf([c0, r0]: Cell, [c1, r1]: Cell): Cell[] {
  const steps = Math.max(Math.abs(c1 - c0), Math.abs(r1 - r0));
  return Array.from({ length: steps + 1 }, (_, i): Cell => {
    const part = steps === 0 ? 0 : i / steps;
    return [Math.round(c0 + (c1 - c0) * part), Math.round(r0 + (r1 - r0) * part)];
  });
}

/** Reads the values along a line from the finest level. */
export async function measureLine(loaded: Loaded, from: Cell, to: Cell, at: Readonly<Record<string, number>>, signal: AbortSignal, onPart: (cells: number) => void): Promise<Series | undefined> {
  const { levels, x, y, meaning, variable } = loaded;
  const array = levels[0]?.array;
  const cells = cellsOf(from, to);
  if (!array) return undefined;
  if (cells.length > LINE_MAX) throw new Error(`This line crosses ${cells.length.toLocaleString("en")} cells; at most ${LINE_MAX.toLocaleString("en")} are read. Draw a shorter line.`);
  const stored: (number | bigint | null)[] = [];
  for (let first = 0; first < cells.length; first += PART_MAX) {
    const part = cells.slice(first, first + PART_MAX);
    const look: Look = await readBox(array, loaded, around(part), at, signal);
    signal.throwIfAborted();
    stored.push(...part.map(([column, row]) => look(column, row)));
    onPart(stored.length);
  }
  const cell = (i: number) => cells[i] ?? from;
  return seriesOf(stored, {
    label: (i) => [...(y ? [`${y.axis.name} ${y.text(cell(i)[1])}`] : []), `${x.axis.name} ${x.text(cell(i)[0])}`].join(", "),
    coordinates: (i) => [...(y ? [y.coordinate(cell(i)[1])] : []), x.coordinate(cell(i)[0])],
    columns: [...(y ? [y.axis.dimension] : []), x.axis.dimension],
    meaning, name: variable.name,
  });
}

function around(cells: readonly Cell[]) {
  const [columns, rows] = [cells.map(([column]) => column), cells.map(([, row]) => row)];
  return { c0: Math.min(...columns), c1: Math.max(...columns), r0: Math.min(...rows), r1: Math.max(...rows) };
}
