// Sorts rows by a column. Nulls, NaN and "not a time" come last in either direction; equal cells keep their order.
// Categories have the order of their enumeration, as in pandas; text has the order of its bytes.
import type { Column } from "hyperslab";
import type { Field } from "./field";

/** The maximum number of rows that are sorted: the column and the order are in memory. */
export const SORTED_MAX = 5_000_000;

/** The cells of a column, in memory. */
export type Cells = Pick<Column, "values" | "offsets" | "validity" | "cell" | "length">;

/** The indices of the cells of a column, in the order of their values. */
export function orderOf(field: Field, column: Cells, descending: boolean): Uint32Array {
  const missing = missingOf(field, column);
  const compare = comparison(field, column);
  const order = new Uint32Array(column.length);
  let [first, last] = [0, column.length];
  for (let i = column.length - 1; i >= 0; i -= 1) if (missing(i)) order[--last] = i;
  for (let i = 0; i < column.length; i += 1) if (!missing(i)) order[first++] = i;
  order.subarray(0, first).sort(descending ? (a, b) => compare(b, a) || a - b : (a, b) => compare(a, b) || a - b);
  return order;
}

function missingOf(field: Field, { validity, values, cell }: Cells): (i: number) => boolean {
  const isNull = (i: number) => validity !== undefined && validity[i] === 0;
  if (cell !== 1) return isNull;
  if (field.sort === "float") return (i) => isNull(i) || Number.isNaN(values[i] as number);
  if (field.sort === "date") return (i) => isNull(i) || values[i] === -(2n ** 63n);
  const { labels } = field;
  return labels ? (i) => isNull(i) || Number(values[i]) < 0 || Number(values[i]) >= labels.length : isNull;
}

function comparison(field: Field, column: Cells): (a: number, b: number) => number {
  const { values } = column;
  if (column.cell === 1 && field.sort !== "text") return (a, b) => ((values[a] as number) < (values[b] as number) ? -1 : Number((values[a] as number) > (values[b] as number)));
  const { offsets } = column;
  const width = Number(column.cell);
  const start = offsets ? (i: number) => offsets[i] ?? 0 : (i: number) => i * width;
  return (a, b) => {
    const [from, to, end] = [start(a), start(b), Math.min(start(a + 1) - start(a), start(b + 1) - start(b))];
    for (let i = 0; i < end; i += 1) {
      const [left, right] = [values[from + i] as number, values[to + i] as number];
      if (left !== right) return left < right ? -1 : 1;
    }
    return start(a + 1) - from - (start(b + 1) - to);
  };
}

/** Whether a column can be sorted by. */
export function isSortable({ sort }: Field): boolean {
  return sort !== "list" && sort !== "bytes";
}
