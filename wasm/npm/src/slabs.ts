// Cuts large reads of dense arrays into slabs of whole tiles, which are read a few at a time: memory stays low, the
// network and the processor work at the same time, and a page can draw what is there.
import { onAbort } from "./abort.js";
import type { TileArray } from "./array.js";
import { axesOf, slice, type AxisSelection, type Selection } from "./select.js";
import { arrayOf } from "./values.js";

/** The size of a slab of the result, in bytes. Results of up to twice as many are read in one piece. */
const SLAB_BYTES = 8 * 2 ** 20;
/** The size if the caller wants parts early. */
const EARLY_BYTES = 2 ** 18;
/** The number of slabs that are read at a time. */
const AT_ONCE = 4;
/** The values of a variable-length cell, for estimates. */
const VAR_VALUES = 16;

/** A part of a selection: some rows of its slowest axis. */
export interface Slab { selection: AxisSelection[]; start: number; rows: number }

/** A selection that is cut along `axis`. */
export interface Slabs {
  axis: number;
  /** The number of selected cells along each dimension. */
  shape: number[];
  /** The cells in a row of the axis. */
  rowCells: number;
  cellBytes: number;
  slabs: Slab[];
}

/** The selected coordinates of a dimension: `count` of them, `step` apart. */
interface Span { first: bigint; step: bigint; count: number }

/**
 * Cuts a selection at the borders of tiles. `undefined` if it is to be read in one piece: because it is small, or because its
 * coordinates are not plain integers.
 */
export function slabsOf(given: Selection | undefined, array: TileArray, named: readonly string[] | undefined, order: "row" | "col", early: boolean): Slabs | undefined {
  if (typeof given === "string") return undefined;
  const { dims, schema } = array;
  const selection = axesOf(given, dims);
  const cellBytes = cellBytesOf(array, named);
  const spans: Span[] = [];
  for (const [i, dim] of dims.entries()) {
    const span = spanOf(selection[i] ?? null, dim);
    if (!span) return undefined;
    spans.push(span);
  }
  const shape = spans.map(({ count }) => count);
  const axes = [...shape.keys()];
  const axis = (order === "row" ? axes : axes.reverse()).find((i) => (shape[i] ?? 0) > 1);
  const span = axis === undefined ? undefined : spans[axis];
  if (axis === undefined || !span) return undefined;
  const rowCells = shape.reduce((cells, count, i) => (i === axis ? cells : cells * count), 1);
  // The engine refuses results that do not fit in memory.
  if (rowCells * cellBytes * span.count >= 2 ** 31) return undefined;
  const bytes = early ? EARLY_BYTES : SLAB_BYTES;
  if (rowCells * cellBytes * span.count <= (early ? bytes : 2 * bytes)) return undefined;
  const tile = BigInt(dims[axis]?.tile ?? 1);
  // The coordinates of a slab.
  const extent = BigInt(Math.max(Math.floor(bytes / (rowCells * cellBytes)), 1)) * span.step;
  const tiles = extent / tile > 0n ? extent / tile : 1n;
  const origin = domainStart(schema.dimensions[axis]) ?? span.first;
  const slabs: Slab[] = [];
  for (let start = 0; start < span.count; ) {
    const from = span.first + BigInt(start) * span.step;
    const end = from + tiles * tile - ((((from - origin) % tile) + tile) % tile);
    const rows = Math.min(Number((end - from + span.step - 1n) / span.step), span.count - start);
    const last = from + BigInt(rows - 1) * span.step;
    const own = span.step === 1n ? ([from, last] as const) : slice(from, last + 1n, Number(span.step));
    slabs.push({ selection: dims.map((_, i) => (i === axis ? own : selection[i] ?? null)), start, rows });
    start += rows;
  }
  return slabs.length > 1 ? { axis, shape, rowCells, cellBytes, slabs } : undefined;
}

/** The bytes of a cell in the result; an estimate if cells vary in length. */
export function cellBytesOf({ attrs, dims }: TileArray, named: readonly string[] | undefined): number {
  const fields = named ? [...attrs, ...dims].filter(({ name }) => named.includes(name)) : attrs;
  const bytes = fields.map(({ type, cell }) => arrayOf(type).BYTES_PER_ELEMENT * (cell === "var" ? VAR_VALUES : cell));
  return Math.max(bytes.reduce((sum, n) => sum + n, 0), 1);
}

/** The first coordinate of the domain, where tiles start. A current domain may start later. */
function domainStart(dimension: { readonly [entry: string]: unknown } | undefined): bigint | undefined {
  const low = (dimension?.["domain"] as unknown[] | undefined)?.[0];
  return typeof low === "number" && Number.isSafeInteger(low) ? BigInt(low) : undefined;
}

export function spanOf(given: AxisSelection, { type, domain }: TileArray["dims"][number]): Span | undefined {
  if (!/^u?int/.test(type) || !domain) return undefined;
  const [low, high] = domain.map(BigInt) as [bigint, bigint];
  const whole = (value: unknown) => (typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value as number) : undefined);
  const counted = (first: bigint | undefined, last: bigint | undefined, step = 1n): Span | undefined => {
    if (first === undefined || last === undefined || last < first || first < low || last > high) return undefined;
    const count = Number((last - first) / step) + 1;
    return Number.isSafeInteger(count) ? { first, step, count } : undefined;
  };
  if (given === null) return counted(low, high);
  if (Array.isArray(given)) return given.length === 2 ? counted(whole(given[0]), whole(given[1])) : undefined;
  if (typeof given !== "object") return counted(whole(given), whole(given));
  if (!("step" in given)) return undefined;
  const step = given.step ?? 1;
  if (!Number.isSafeInteger(step) || step < 1) return undefined;
  const end = given.stop === null ? high + 1n : whole(given.stop);
  return counted(given.start === null ? low : whole(given.start), end === undefined ? undefined : end - 1n, BigInt(step));
}

/** Runs `work` for each item, a few at a time, and returns the results in order. If one fails, the others are aborted. */
export async function fewAtOnce<T, R>(items: readonly T[], signal: AbortSignal | undefined, work: (item: T, signal: AbortSignal) => Promise<R>): Promise<R[]> {
  const controller = new AbortController();
  const stop = () => controller.abort(signal?.reason);
  const end = signal && onAbort(signal, stop);
  if (signal?.aborted) stop();
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T, controller.signal);
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return results;
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    end?.();
  }
}
