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

/** The tiles that store the cells of a picture: their size in cells, and the first column and row of one tile. */
export interface Tiles { readonly columns: number; readonly rows: number; readonly c0: number; readonly r0: number }

/** The tiles of an array. If tiles do not match the cells of the picture, the result is tiles of one cell. */
export function tilesOf({ dims, schema }: TileArray, { x, y }: Placed): Tiles {
  const side = (axis: LabelledAxis | undefined): readonly [length: number, first: number] => {
    const name = axis?.axis.dimension;
    const [tile, stride] = [dims.find((dim) => dim.name === name)?.tile ?? 1, axis?.axis.stride ?? 1];
    const start = (schema.dimensions.find((dim) => dim.name === name)?.["domain"] as readonly unknown[] | undefined)?.[0];
    const offset = Number(axis?.coordinate(0)) - Number(start);
    const isWhole = Number.isSafeInteger(offset) && Number.isSafeInteger(tile / stride) && Number.isSafeInteger(offset / stride);
    return isWhole && tile > 0 ? [tile / stride, -offset / stride] : [1, 0];
  };
  const [[columns, c0], [rows, r0]] = [side(x), side(y)];
  return { columns, rows, c0, r0 };
}

/** The parts of a box, of at most `most` cells each. If tiles are small enough, parts are whole tiles, read once. */
export function partsOf({ c0, c1, r0, r1 }: Box, most: number, tiles: Tiles = { columns: 1, rows: 1, c0: 0, r0: 0 }): Box[] {
  const { columns, rows } = tiles.columns * tiles.rows <= most ? tiles : { columns: 1, rows: 1 };
  const across = c1 - c0 + 1;
  const width = across * rows <= most ? across : Math.floor(most / rows / columns) * columns;
  const height = Math.floor(most / width / rows) * rows;
  const spans = (from: number, to: number, size: number, tile: number, first: number) => {
    const found: (readonly [number, number])[] = [];
    // The first part ends where a tile does.
    for (let start = from; start <= to;) {
      const next = start + size - ((((start - first) % tile) + tile) % tile);
      found.push([start, Math.min(to, next - 1)]);
      start = next;
    }
    return found;
  };
  const lines = width === across ? [[c0, c1] as const] : spans(c0, c1, width, columns, tiles.c0);
  return spans(r0, r1, height, rows, tiles.r0).flatMap(([top, bottom]) => lines.map(([left, right]) => ({ c0: left, c1: right, r0: top, r1: bottom })));
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
