// Edits cells: finds the cells that a stroke or a fill covers, and writes them as one fragment.
import { get, put, type AxisSelection, type Chunk, type TileArray } from "hyperslab";
import type { LabelledAxis } from "./axes";
import { areAlike, connected } from "./fill";
import type { Loaded } from "./model";

/** The most cells in the box around a stroke. */
export const STROKE_MAX = 4_000_000;
/** The most bytes that a write reads and writes: the box around a stroke, with all attributes. */
const BYTES_MAX = 2 ** 27;
/** The number of values that a cell of variable length is taken to have. */
const VALUES = 64;

/** Cells of the picture that are to be written, as columns and rows. */
export class Stroke {
  /** The cells, as numbers that count from the first one. */
  private readonly cells = new Set<number>();
  private origin: readonly [number, number] = [0, 0];
  private box: Box | undefined;

  /** `most`: the most cells in the box around the stroke. */
  constructor(private readonly columns: number, private readonly rows: number, private readonly most = STROKE_MAX) {}

  /**
   * Covers a square of cells around a point of the picture, and those between it and the point before. Returns the cells
   * that were not covered before. Fails when the box around the stroke would have too many cells; what was covered stays.
   */
  cover([column, row]: readonly [number, number], size: number, from: readonly [number, number] | undefined): [number, number][] {
    const steps = from ? Math.max(1, Math.ceil(Math.hypot(column - from[0], row - from[1]))) : 1;
    const added: [number, number][] = [];
    for (let step = 1; step <= steps; step += 1) {
      const part = step / steps;
      const [c, r] = from ? [from[0] + (column - from[0]) * part, from[1] + (row - from[1]) * part] : [column, row];
      this.square(Math.floor(c - (size - 1) / 2), Math.floor(r - (size - 1) / 2), size, added);
    }
    return added;
  }

  /** Covers a cell. Returns whether it was not covered before. */
  add(column: number, row: number): boolean {
    if (!this.box) this.origin = [column, row];
    const box = around(this.box, column, row);
    const count = (box.c1 - box.c0 + 1) * (box.r1 - box.r0 + 1);
    if (count > this.most) throw new Error(`The box around a stroke can have at most ${this.most.toLocaleString("en")} cells. What was painted so far is written; paint the rest in other strokes.`);
    this.box = box;
    const before = this.cells.size;
    return this.cells.add((row - this.origin[1]) * SIDE + column - this.origin[0]).size > before;
  }

  /** The covered cells. */
  *covered(): Generator<[number, number]> {
    for (const cell of this.cells) {
      const row = Math.round(cell / SIDE);
      yield [cell - row * SIDE + this.origin[0], row + this.origin[1]];
    }
  }

  /** The box around the covered cells. `undefined` if there are none. */
  get around(): Box | undefined {
    return this.box;
  }

  private square(column: number, row: number, size: number, added: [number, number][]): void {
    for (let r = Math.max(0, row); r < Math.min(this.rows, row + size); r += 1) {
      for (let c = Math.max(0, column); c < Math.min(this.columns, column + size); c += 1) if (this.add(c, r)) added.push([c, r]);
    }
  }
}

/** A box of the picture: its first and last columns and rows, counted from 0. */
export interface Box { readonly c0: number; readonly c1: number; readonly r0: number; readonly r1: number }

function around(box: Box | undefined, c: number, r: number): Box {
  const { c0, c1, r0, r1 } = box ?? { c0: c, c1: c, r0: r, r1: r };
  return { c0: Math.min(c0, c), c1: Math.max(c1, c), r0: Math.min(r0, r), r1: Math.max(r1, r) };
}

/** More than twice the sides of the largest box. */
const SIDE = 2 ** 24;

/** The most cells in the box around a stroke, given what the write of a cell takes. */
export function strokeMax({ levels, x, y }: Pick<Loaded, "levels" | "x" | "y">): number {
  const bytes = (levels[0]?.array.attrs ?? []).reduce((sum, { type, cell, nullable }) => sum + widthOf(type) * (cell === "var" ? VALUES : cell) + Number(nullable), 0);
  // The samples of a pixel may follow each other.
  const samples = (x.axis.stride ?? 1) * (y?.axis.stride ?? 1);
  return Math.max(1, Math.min(STROKE_MAX, Math.floor(BYTES_MAX / Math.max(1, bytes * samples))));
}

/** The bytes of a value. */
function widthOf(type: string): number {
  if (/^(date)?time_/.test(type)) return 8;
  return Number(/^(?:u?int|float)(\d+)$/.exec(type)?.[1] ?? 8) / 8;
}

/** The running writes. They run one after the other, because each must see the cells that earlier ones wrote. */
let queue: Promise<unknown> = Promise.resolve();

/** An entered value, and the cells to write it to. `find` finds these cells in the newest array. */
export interface Edit { readonly loaded: Loaded; readonly entered: string; readonly at: Readonly<Record<string, number>>; find(array: TileArray): Promise<Stroke> }

/**
 * Writes an entered value into cells, as one fragment, after earlier writes. A dense write covers a whole box and all
 * attributes, so the other cells in the box and the other attributes are written again unchanged.
 */
export async function writeCells(edit: Edit, openNewest: () => Promise<TileArray>): Promise<void> {
  const stored = storedValue(edit.entered, edit.loaded.meaning);
  const written = queue.catch(() => undefined).then(async () => {
    const array = await openNewest();
    await write(array, edit, await edit.find(array), stored);
  });
  queue = written;
  return written;
}

async function write(array: TileArray, { loaded, at }: Edit, stroke: Stroke, stored: number | bigint): Promise<void> {
  const box = stroke.around;
  if (!box) return;
  const selection = selectionOf(loaded, box, at);
  const cells = (await get(array, selection, { attrs: array.attrs.map(({ name }) => name) })) as Record<string, Chunk>;
  const painted = cells[loaded.variable.attribute];
  if (!painted) return;
  const place = placesIn(array, loaded, box, painted);
  for (const [column, row] of stroke.covered()) {
    const index = place(column, row);
    (painted.data as { [index: number]: number | bigint })[index] = stored;
    if (painted.validity) painted.validity[index] = 1;
  }
  await put(array, selection, cells);
}

/** The cells in a box that are connected to a cell and have its value. */
export async function filled(array: TileArray, loaded: Loaded, box: Box, [column, row]: readonly [number, number], at: Readonly<Record<string, number>>): Promise<Stroke> {
  if (column < box.c0 || column > box.c1 || row < box.r0 || row > box.r1) throw new Error("The cell is not in view. Move the picture and click the cell again.");
  const [width, height] = [box.c1 - box.c0 + 1, box.r1 - box.r0 + 1];
  if (width * height > STROKE_MAX) throw new Error(`${(width * height).toLocaleString("en")} cells are in view; a fill searches at most ${STROKE_MAX.toLocaleString("en")}. Zoom in and fill again.`);
  const chunk = await get(array, selectionOf(loaded, box, at), { attrs: loaded.variable.attribute });
  const place = placesIn(array, loaded, box, chunk);
  const indexOf = (cell: number) => place(box.c0 + (cell % width), box.r0 + Math.floor(cell / width));
  const start = (row - box.r0) * width + column - box.c0;
  const first = indexOf(start);
  const most = strokeMax(loaded);
  const stroke = new Stroke(loaded.x.length, loaded.y?.length ?? 1);
  for (const cell of connected(width, height, start, (next) => areAlike(chunk.data as ArrayLike<number | bigint>, chunk.validity, indexOf(next), first))) stroke.add(box.c0 + (cell % width), box.r0 + Math.floor(cell / width));
  const { c0, c1, r0, r1 } = stroke.around ?? box;
  if ((c1 - c0 + 1) * (r1 - r0 + 1) > most) throw new Error(`The box around the connected cells has more than ${most.toLocaleString("en")} cells, too many to write at once. Zoom in, and fill them part by part.`);
  return stroke;
}

/** A box of the picture, at the positions of the other axes, as a selection with a range for each dimension. */
function selectionOf({ x, y, others }: Loaded, box: Box, at: Readonly<Record<string, number>>): Record<string, AxisSelection> {
  const range = (axis: LabelledAxis, from: number, to: number) => [axis.coordinate(from), lastOf(axis, to)] as AxisSelection;
  return Object.fromEntries([x, ...(y ? [y] : []), ...others].map((axis): [string, AxisSelection] => {
    const position = at[axis.axis.dimension] ?? 0;
    return [axis.axis.dimension, axis === x ? range(axis, box.c0, box.c1) : axis === y ? range(axis, box.r0, box.r1) : range(axis, position, position)];
  }));
}

/** Returns a function that gives the index of a cell in the data of a chunk. */
function placesIn(array: TileArray, { x, y }: Loaded, box: Box, chunk: Chunk): (column: number, row: number) => number {
  const strideOf = (axis: LabelledAxis | undefined) => (chunk.stride[array.dims.findIndex(({ name }) => name === axis?.axis.dimension)] ?? 0) * (axis?.axis.stride ?? 1);
  const [across, down] = [strideOf(x), strideOf(y)];
  return (column, row) => (column - box.c0) * across + (row - box.r0) * down;
}

/** The last coordinate of a position: the samples of a pixel may follow each other. */
export function lastOf({ axis: { stride = 1 }, coordinate }: LabelledAxis, position: number): number | bigint {
  const first = coordinate(position);
  return typeof first === "bigint" ? first + BigInt(stride - 1) : first + stride - 1;
}

/** The value that a cell stores: packed, and of the attribute's type. Fails if it does not fit. */
export function storedValue(entered: string, { datatype, scale, offset }: Loaded["meaning"]): number | bigint {
  const value = entered.trim() === "" ? NaN : Number(entered);
  if (Number.isNaN(value)) throw new Error(`'${entered}' is not a number. Enter the value to paint.`);
  const packed = (value - offset) / scale;
  if (datatype.startsWith("float")) return packed;
  if (datatype === "bool") return packed === 0 ? 0 : 1;
  const [, sign = "", bits = "64"] = /^(u?)int(\d+)$/.exec(datatype) ?? [];
  const [lo, hi] = sign ? [0n, 2n ** BigInt(bits) - 1n] : [-(2n ** (BigInt(bits) - 1n)), 2n ** (BigInt(bits) - 1n) - 1n];
  const isExact = scale === 1 && offset === 0 && /^[+-]?\d+$/.test(entered.trim());
  const rounded = isExact ? BigInt(entered.trim().replace(/^\+/, "")) : Number.isFinite(packed) ? BigInt(Math.round(packed)) : hi + 1n;
  const unpacked = (end: bigint) => (scale === 1 && offset === 0 ? String(end) : String(Number(end) * scale + offset));
  if (rounded < lo || rounded > hi) throw new Error(`${entered} does not fit into ${datatype}, which holds ${unpacked(lo)} to ${unpacked(hi)}. Enter another value to paint.`);
  return bits === "64" ? rounded : Number(rounded);
}
