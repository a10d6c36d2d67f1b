// Reads boxes of cells of the finest level.
import { get, type AxisSelection, type TileArray } from "hyperslab";
import type { LabelledAxis } from "./axes";
import type { Loaded } from "./model";
import { lastOf, type Box } from "./paint";

export type { Box };

/** Where a variable is drawn. */
export type Placed = Pick<Loaded, "variable" | "x" | "y" | "others">;

/** The stored value of a cell by its column and row in the picture; `null` for null. */
export type Look = (column: number, row: number) => number | bigint | null;

/** The number of cells in a box. */
export function sizeOf({ c0, c1, r0, r1 }: Box): number {
  return (c1 - c0 + 1) * (r1 - r0 + 1);
}

/** The part of a box inside another. `undefined` if there is none. */
export function common(a: Box, b: Box): Box | undefined {
  const box = { c0: Math.max(a.c0, b.c0), c1: Math.min(a.c1, b.c1), r0: Math.max(a.r0, b.r0), r1: Math.min(a.r1, b.r1) };
  return box.c0 <= box.c1 && box.r0 <= box.r1 ? box : undefined;
}

/** The parts of a box, of at most `most` cells each, in whole rows if they are short enough. */
export function partsOf(box: Box, most: number): Box[] {
  const width = Math.min(box.c1 - box.c0 + 1, most);
  const height = Math.max(1, Math.floor(most / width));
  const parts: Box[] = [];
  for (let r0 = box.r0; r0 <= box.r1; r0 += height) {
    for (let c0 = box.c0; c0 <= box.c1; c0 += width) parts.push({ c0, c1: Math.min(box.c1, c0 + width - 1), r0, r1: Math.min(box.r1, r0 + height - 1) });
  }
  return parts;
}

/** Reads the cells of a box. The other axes stay at the positions `at`. */
export async function readBox(array: TileArray, { variable, x, y, others }: Placed, box: Box, at: Readonly<Record<string, number>>, signal: AbortSignal): Promise<Look> {
  const range = (axis: LabelledAxis, from: number, to: number) => [axis.coordinate(from), lastOf(axis, to)] as AxisSelection;
  const selected = [x, ...(y ? [y] : []), ...others].map((axis): [string, AxisSelection] => {
    const position = at[axis.axis.dimension] ?? 0;
    return [axis.axis.dimension, axis === x ? range(axis, box.c0, box.c1) : axis === y ? range(axis, box.r0, box.r1) : [axis.coordinate(position), axis.coordinate(position)] as AxisSelection];
  });
  const { data, validity, stride } = await get(array, Object.fromEntries(selected), { attrs: variable.attribute, signal });
  const stored = data as ArrayLike<number | bigint>;
  const step = (axis: LabelledAxis | undefined) => (axis ? (axis.axis.stride ?? 1) * (stride[array.dims.findIndex(({ name }) => name === axis.axis.dimension)] ?? 0) : 0);
  const [across, down] = [step(x), step(y)];
  return (column, row) => {
    const index = (column - box.c0) * across + (row - box.r0) * down;
    return validity?.[index] === 0 ? null : stored[index] ?? null;
  };
}
