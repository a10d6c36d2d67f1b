// Reads boxes of dense arrays.
import { check } from "./arguments.js";
import type { TileArray, CallOptions } from "./array.js";
import type { Reader } from "./bridge.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { record } from "./exact.js";
import { allocate, concat, joined } from "./join.js";
import type { PlanOptions } from "./plan.js";
import { progressing, type Progress } from "./progress.js";
import { boxJson, clamped, type Selection } from "./select.js";
import { fewAtOnce, slabsOf, type Slabs } from "./slabs.js";
import type { Priority } from "./store.js";
import { thinned, thinningOf } from "./thin.js";
import { arrayOf, Column, withArticle, type ArrayOf, type DataType, type RawColumn, type TypedArray, type TypeOf, type ValueOf } from "./values.js";

/** The order of cells in a box: row-major (the first index varies slowest) or column-major. */
export type Order = "row" | "col";

/** @internal Checks an order of cells in a box. */
export function orderOf(order: Order = "row"): Order {
  if (order === "row" || order === "col") return order;
  throw new HyperslabError("InvalidArgument", `unknown order '${String(order)}'; use row or col`);
}

/** A box of cells of one field, as a strided view: `data[i * stride[0] + j * stride[1] + …]`. */
export interface Chunk<T extends DataType = DataType> {
  /** The type of the values. */
  readonly type: T;
  /** The values of all cells, in `order`. */
  readonly data: ArrayOf<T>;
  /** The number of cells along each axis. A last axis has the values of a cell, if there are several. */
  readonly shape: number[];
  /** The distance in `data` between neighbours along each axis, in values. */
  readonly stride: number[];
  /** The order of the cells in `data`. */
  readonly order: Order;
  /** For variable-length cells: where each starts in `data`, and where the last one ends. */
  readonly offsets?: Uint32Array;
  /** For nullable attributes: 1 for a value, 0 for null. */
  readonly validity?: Uint8Array;
  /** The cell at these indices. Text is a string, null is `null`. */
  at(...index: number[]): ValueOf<T>;
}

/** The options of {@link get}. */
export interface GetOptions extends CallOptions {
  /** `"low"`: from an `HttpStore`, the read waits while other reads of the store run. Default: `"high"`. */
  priority?: Priority;
  /** The attributes or dimensions to read. One name gives a chunk, a list gives a record of chunks. Default: the only attribute. */
  attrs?: string | readonly string[];
  /** The order of the cells. Default: `"row"`. */
  order?: Order;
  /** A condition such as `"mag >= 4.5 and place != 'Alaska'"`. Cells that do not meet it get the fill value. */
  where?: string;
  /**
   * An array to read into, which becomes the chunk's `data`. Reuse it to avoid allocations. It must have the attribute's
   * type and one element per value of the box. Only for one attribute with fixed-length cells. If it does not fit, the
   * call fails without changing it.
   */
  out?: TypedArray;
  /**
   * Called for each finished part of the result, in any order, so that a page can draw it early. Results of more than
   * 256 KiB are read in parts of whole rows of tiles.
   */
  onTile?: (part: TilePart) => void;
  /** Called when bytes have arrived. */
  onProgress?: (progress: Progress) => void;
}

/** A finished part of a result. */
export interface TilePart {
  /** The attribute. */
  readonly name: string;
  /** Where the chunk is in the result: the index of its first cell along each axis. */
  readonly start: readonly number[];
  /** The cells. */
  readonly chunk: Chunk;
}

/** @internal A result of the engine. */
export interface RawResult { columns: RawColumn[]; cells: number; shape?: number[]; single?: boolean[] }

/**
 * Reads a box of a dense array. Dimensions with one selected coordinate are dropped. A slice past the ends of the domain
 * is cut there. Without `attrs`, the array must have only one attribute, or the selection must name one.
 *
 * Fails with the code `InvalidArgument` if the array is sparse or the selection does not fit it, and with
 * `LimitExceeded` if the box does not fit in memory.
 *
 * @example
 * ```js
 * import { get, open, slice } from "hyperslab";
 *
 * const elevation = await open("https://example.org/arrays/elevation");
 * const { data, shape, stride } = await get(elevation, { y: slice(0, 64), x: [100, 163] });
 * console.log(shape, stride, data.length);
 * ```
 *
 * ```text
 * [ 64, 64 ] [ 64, 1 ] 4096
 * ```
 */
export async function get<A extends object, D extends object, N extends keyof (A & D) & string>(array: TileArray<A, D>, selection: Selection | undefined, options: GetOptions & { attrs: N }): Promise<Chunk<TypeOf<A & D, N>>>;
export async function get<A extends object, D extends object, N extends keyof (A & D) & string>(array: TileArray<A, D>, selection: Selection | undefined, options: GetOptions & { attrs: readonly N[] }): Promise<{ [Name in N]: Chunk<TypeOf<A & D, Name>> }>;
export async function get<A extends object, D extends object>(array: TileArray<A, D>, selection?: Selection, options?: GetOptions & { attrs?: undefined }): Promise<Chunk<TypeOf<A, keyof A>>>;
export async function get(array: TileArray, selection?: Selection, options: GetOptions = {}): Promise<Chunk | Record<string, Chunk>> {
  check<GetOptions>({ array, options }, { attrs: 1, order: 1, where: 1, out: 1, onTile: 1, onProgress: 1, priority: 1, signal: 1 });
  if (array.kind !== "dense") throw new HyperslabError("InvalidArgument", "the array is sparse; use query()");
  const { attrs, out } = options;
  const order = orderOf(options.order);
  const named = attrs === undefined ? undefined : typeof attrs === "string" ? [attrs] : [...attrs];
  const inText = typeof selection === "string" ? selection.replace(/=\s*@/g, "=").split("@").slice(0, -1) : [];
  if (!named && inText.length === 0) refuseSeveral(array.attrs.map(({ name }) => name));
  if (out) fits(out, array, named ?? inText);
  // Changes that the handle makes meanwhile are not seen: all parts are of one state.
  const read = { array, raw: array.raw, selection: clamped(selection, array.dims), named, order };
  const slabs = slabsOf(read.selection, array, named, order, options.onTile !== undefined);
  const result = await (slabs ? inSlabs(read, options, slabs) : whole(read, options));
  const chunks = result.columns.map((raw) => [raw.name, chunk(raw, result, order, out)] as const);
  if (named && typeof attrs !== "string") return record(chunks);
  refuseSeveral(chunks.map(([name]) => name));
  const [first] = chunks;
  if (!first) throw new HyperslabError("InvalidArgument", "the selection names no attribute; name one in `attrs`");
  return first[1];
}

/** The data to read. */
interface Read { array: TileArray; raw: TileArray["raw"]; selection: Selection | undefined; named: string[] | undefined; order: Order }

/** Reads a selection at once. */
async function whole(read: Read, options: GetOptions): Promise<RawResult> {
  const { array, order } = read;
  const { out, where, onTile, signal } = options;
  const { isSingle } = boxJson(read.selection, array.dims);
  const room = out && bytesOf(out);
  return progressing(options, () => planOf(read, options), async (reader) => {
    const found = await cellsOf(read, read.selection, where, reader, room, signal);
    const result = isSingle ? { ...found, single: isSingle(found.shape ?? []) } : found;
    for (const raw of result.columns) onTile?.({ name: raw.name, start: axesOf(result).map(() => 0), chunk: chunk(raw, result, order, out) });
    return result;
  });
}

/** Reads a selection with one call of the engine. */
async function cellsOf({ array, raw, named, order }: Read, selection: Selection | undefined, where: string | undefined, reader: Reader | undefined, room: Uint8Array | undefined, signal: AbortSignal | undefined): Promise<RawResult> {
  const thinning = thinningOf(selection, array, named, order);
  const { json } = boxJson(thinning?.selection ?? selection, array.dims);
  const found = await call(signal, (aborted) => raw.get(json, named, order, where, reader, thinning ? undefined : room, aborted)) as RawResult;
  if (!thinning) return found;
  const result = thinned(found, thinning, order, room);
  const [column] = result.columns;
  if (room && column && (result.columns.length > 1 || column.data !== room)) throw misfit(column.data.length, room.length);
  return result;
}

/** Reads a large selection in slabs. */
async function inSlabs(read: Read, options: GetOptions, { slabs, axis, shape, rowCells, cellBytes }: Slabs): Promise<RawResult> {
  const { order } = read;
  const { out, where, onTile, signal } = options;
  const rowBytes = rowCells * cellBytes;
  const rows = shape[axis] ?? 0;
  // The cells of one attribute go straight to their place in the result.
  const room = hasRoom(read) ? placeFor(rowBytes * rows, out) : undefined;
  if (out && !room) throw new HyperslabError("InvalidArgument", "'out' takes one attribute with fixed-length cells; name it in `attrs`");
  const found = await progressing(options, () => planOf(read, options), async (reader) => fewAtOnce(slabs, signal, async (slab, signal) => {
    const own = room?.subarray(slab.start * rowBytes, (slab.start + slab.rows) * rowBytes);
    const result = await cellsOf(read, slab.selection, where, reader, own, signal);
    const start = axesOf({ ...result, shape: shape.map((_, i) => (i === axis ? slab.start : 0)) });
    for (const raw of result.columns) onTile?.({ name: raw.name, start, chunk: chunk(raw, result, order) });
    return result;
  }));
  const [first] = found;
  if (!first) throw new HyperslabError("InvalidArgument", "the selection has no cells");
  const result = { cells: rowCells * rows, shape, ...(first.single ? { single: first.single } : {}) };
  const [column] = first.columns;
  if (!room || !column) return { ...result, columns: joined(first, found).columns };
  const validity = found.map(({ columns: [raw] }) => raw?.validity ?? new Uint8Array());
  return { ...result, columns: [{ ...column, data: room, ...(column.validity ? { validity: concat(validity, Uint8Array) } : {}) }] };
}

/** Whether the result is one column of fixed-length cells. */
function hasRoom({ array, named }: Read): boolean {
  const names = named ?? array.attrs.map(({ name }) => name);
  const field = [...array.attrs, ...array.dims].find(({ name }) => name === names[0]);
  return names.length === 1 && field !== undefined && field.cell !== "var";
}

/** The memory for a column of `bytes` bytes. */
function placeFor(bytes: number, out: TypedArray | undefined): Uint8Array {
  if (!out) return allocate(bytes, Uint8Array);
  if (out.byteLength === bytes) return bytesOf(out);
  throw misfit(bytes, out.byteLength);
}

function misfit(bytes: number, given: number): HyperslabError {
  return new HyperslabError("InvalidArgument", `the box has ${bytes} bytes, but 'out' has ${given}`);
}

function planOf(read: Read, options: GetOptions): Promise<{ bytes: number }> {
  return read.array.explain(read.selection, planOptions(read, options));
}

function planOptions({ named, order }: Read, { where, signal }: GetOptions): PlanOptions {
  return { order, ...(named ? { attrs: named } : {}), ...(where === undefined ? {} : { where }), ...(signal ? { signal } : {}) };
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** The lengths of the axes that the result keeps. */
function axesOf({ shape = [], single = [] }: RawResult): number[] {
  return shape.filter((_, i) => !single[i]);
}

/** Refuses several attributes where the result is one chunk. */
function refuseSeveral(names: readonly string[]): void {
  if (names.length < 2) return;
  throw new HyperslabError("InvalidArgument", `the result would have ${names.length} attributes; name one in \`attrs\`, or several as a list: ${JSON.stringify(names)}`);
}

/** Checks that `out` has the type of the fields `names`; of every attribute if no field has such a name. */
function fits(out: TypedArray, { attrs, dims }: TileArray, names: readonly string[]): void {
  const named = [...attrs, ...dims].filter(({ name }) => names.includes(name));
  const other = (named.length > 0 ? named : attrs).find(({ type }) => !(out instanceof arrayOf(type)));
  if (!other) return;
  const Typed = arrayOf(other.type).name;
  throw new HyperslabError("InvalidArgument", `'out' must have the type ${other.type}: give ${withArticle(Typed)}, not ${withArticle(out.constructor.name)}, or name the attribute in 'attrs'`);
}

function chunk(raw: RawColumn, result: RawResult, order: Order, out?: TypedArray): Chunk {
  const column = new Column(raw);
  const { type } = column;
  const data = out ?? column.values;
  const cells = axesOf(result);
  const stride = strides(cells, order);
  const at = (...index: number[]) => {
    const outside = index.findIndex((i, axis) => axis < cells.length && !(i >= 0 && i < (cells[axis] ?? 0)));
    if (outside >= 0) throw new RangeError(`index ${index[outside]} is outside an axis of length ${cells[outside] ?? 0}`);
    return column.at(index.reduce((sum, i, axis) => sum + i * (stride[axis] ?? 0), 0));
  };
  const extra = { ...(column.offsets ? { offsets: column.offsets } : {}), ...(column.validity ? { validity: column.validity } : {}) };
  if (raw.cell <= 1) return { type, data, shape: cells, stride, order, at, ...extra };
  // Several values per cell are a last axis, which varies fastest.
  return { type, data, shape: [...cells, raw.cell], stride: [...stride.map((s) => s * raw.cell), 1], order, at, ...extra };
}

function strides(shape: number[], order: Order): number[] {
  const stride = new Array<number>(shape.length);
  let step = 1;
  const axes = shape.map((_, i) => i);
  for (const axis of order === "row" ? axes.reverse() : axes) {
    stride[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return stride;
}
