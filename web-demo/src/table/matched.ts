// Finds the cells of a dense array that meet a condition. A filtered read of a dense array has all cells: those that do not
// meet the condition have the fill value. So cells that differ from an unfiltered read do not meet it.
import { query, type Ranges, type TileArray } from "hyperslab";
import type { Cells } from "./order";

/** The indices of the cells of a one-dimensional dense array that meet a condition. */
export async function matchedCells(array: TileArray, ranges: Ranges, where: string, signal: AbortSignal): Promise<Uint32Array> {
  const wanted = await query(array, { ranges, where, signal }).count();
  let rows: Uint32Array | undefined;
  // A cell that has the fill value anyway is the same in both reads. Another attribute may tell.
  for (const { name } of array.attrs) {
    const [all, kept] = await Promise.all([{}, { where }].map(async (filter) => (await query(array, { ranges, attrs: name, signal, ...filter }).columns()).columns[name] as Cells)) as [Cells, Cells];
    const same = sameCell(all, kept);
    rows = (rows ?? Uint32Array.from({ length: all.length }, (_, i) => i)).filter(same);
    if (rows.length === wanted) return rows;
  }
  throw new Error(`${wanted} rows meet the condition, but cells alone do not show which rows: some rows have only fill values. Use \`hyperslab export --rows --where\``);
}

/** Whether a cell is the same in two columns, byte by byte. */
export function sameCell(a: Cells, b: Cells): (i: number) => boolean {
  const [left, right] = [a, b].map(({ values }) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)) as [Uint8Array, Uint8Array];
  const size = a.values.BYTES_PER_ELEMENT;
  const place = ({ offsets, cell }: Cells, i: number) => (offsets ? (offsets[i] ?? 0) : i * Number(cell)) * size;
  return (i) => {
    const isNull = (column: Cells) => column.validity?.[i] === 0;
    if (isNull(a) !== isNull(b)) return false;
    const [from, to] = [place(a, i), place(b, i)];
    const length = place(a, i + 1) - from;
    if (length !== place(b, i + 1) - to) return false;
    for (let k = 0; k < length; k += 1) if (left[from + k] !== right[to + k]) return false;
    return true;
  };
}
