// Joins the cells of batches.
import type { Column } from "hyperslab";
import type { Cells } from "./order";

type Numbers = Float64Array;

/** The cells of several columns of a field, in one. */
export function joined(columns: readonly Column[]): Cells {
  const [first] = columns;
  if (!first || columns.length === 1) return first ?? { values: new Uint8Array(), offsets: undefined, validity: undefined, cell: 1, length: 0 };
  const length = columns.reduce((sum, column) => sum + column.length, 0);
  return {
    length,
    cell: first.cell,
    values: concatenated(columns.map(({ values }) => values as unknown as Numbers)) as unknown as Cells["values"],
    offsets: first.offsets ? joinedOffsets(columns, length) : undefined,
    validity: first.validity ? (concatenated(columns.map(({ validity }) => validity as unknown as Numbers)) as unknown as Uint8Array) : undefined,
  };
}

function concatenated(parts: readonly Numbers[]): Numbers {
  const Typed = (parts[0] as Numbers).constructor as new (length: number) => Numbers;
  const all = new Typed(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function joinedOffsets(columns: readonly Column[], length: number): Uint32Array {
  const offsets = new Uint32Array(length + 1);
  let [row, base] = [0, 0];
  for (const { offsets: starts = new Uint32Array(1), length: cells } of columns) {
    for (let i = 0; i < cells; i += 1) offsets[row++] = base + (starts[i] ?? 0);
    base += starts[cells] ?? 0;
  }
  offsets[length] = base;
  return offsets;
}
