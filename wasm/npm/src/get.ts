// Reads boxes of dense arrays.
import { check } from "./arguments.js";
import type { TileArray, CallOptions } from "./array.js";
import { readerOf } from "./bridge.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { record } from "./exact.js";
import { boxJson, clamped, type Selection } from "./select.js";
import type { Priority } from "./store.js";
import { arrayOf, Column, type ArrayOf, type DataType, type RawColumn, type TypedArray, type TypeOf, type ValueOf } from "./values.js";

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
  /** `"low"`: the read waits while other reads of the store run. Default: `"high"`. */
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
  check({ array, options });
  if (array.kind !== "dense") throw new HyperslabError("InvalidArgument", "the array is sparse; use query()");
  const { attrs, where, out, signal } = options;
  const order = orderOf(options.order);
  const named = attrs === undefined ? undefined : typeof attrs === "string" ? [attrs] : [...attrs];
  const { json, isSingle } = boxJson(clamped(selection, array.dims), array.dims);
  const inText = typeof selection === "string" ? selection.split("@").slice(0, -1) : [];
  if (!named && inText.length === 0) refuseSeveral(array.attrs.map(({ name }) => name));
  if (out) fits(out, array, named ?? inText);
  const reader = readerOf(options.priority);
  const room = out && new Uint8Array(out.buffer as ArrayBuffer, out.byteOffset, out.byteLength);
  const found = await call(signal, (aborted) => array.raw.get(json, named, order, where, reader, room, aborted)) as RawResult;
  const result = isSingle ? { ...found, single: isSingle(found.shape ?? []) } : found;
  const chunks = result.columns.map((raw) => [raw.name, chunk(raw, result, order, out)] as const);
  if (named && typeof attrs !== "string") return record(chunks);
  refuseSeveral(chunks.map(([name]) => name));
  const [first] = chunks;
  if (!first) throw new HyperslabError("InvalidArgument", "the selection names no attribute; name one in `attrs`");
  return first[1];
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
  throw new HyperslabError("InvalidArgument", `'out' must have the type ${other.type}: give a ${Typed}, not a ${out.constructor.name}, or name the attribute in 'attrs'`);
}

function chunk(raw: RawColumn, { shape = [], single = [] }: RawResult, order: Order, out?: TypedArray): Chunk {
  const column = new Column(raw);
  const { type } = column;
  const data = out ?? column.values;
  const cells = shape.filter((_, i) => !single[i]);
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
