// Reads boxes of which several dimensions are thinned, by a step or a list.
//
// The engine copies each run of neighbouring cells on its own. If two dimensions are thinned, every cell is a run, which
// takes several times as long as reading the cells in between. So the engine thins the slowest dimension, and this module
// picks the coordinates of the others from the result.
import type { TileArray } from "./array.js";
import type { Order, RawResult } from "./get.js";
import { allocate } from "./join.js";
import { axesOf, listed, type AxisSelection, type Selection } from "./select.js";
import { cellBytesOf, spanOf } from "./slabs.js";
import type { RawColumn } from "./values.js";

/** The maximum number of cells to read for each selected one. */
const EXCESS_MAX = 16;
/** The maximum size of the cells to read, in bytes. */
const BYTES_MAX = 2 ** 26;

/** A selection that includes the cells in between, and the indices to pick along each axis of its result; `undefined` for all. */
export interface Thinning { selection: AxisSelection[]; picked: (number[] | undefined)[] }

/** How to read a selection of fixed-length cells. `undefined` if the engine should read it as it is. */
export function thinningOf(given: Selection | undefined, array: TileArray, named: readonly string[] | undefined, order: Order): Thinning | undefined {
  const { dims, attrs } = array;
  const fields = named ? [...attrs, ...dims].filter(({ name }) => named.includes(name)) : attrs;
  if (typeof given !== "object" || given === null || given instanceof Date || fields.some(({ cell }) => cell === "var")) return undefined;
  const selection = axesOf(given, dims);
  if (selection.length > dims.length) return undefined;
  const thinned = dims.map((dim, i) => picksOf(selection[i] ?? null, dim));
  const axes = order === "row" ? [...thinned.keys()] : [...thinned.keys()].reverse();
  const [kept, ...others] = axes.filter((i) => thinned[i]);
  if (kept === undefined || others.length === 0) return undefined;
  const excess = others.reduce((product, i) => product * (thinned[i] ? sizeOf(thinned[i]) / thinned[i].picks.length : 1), 1);
  const cells = dims.reduce((product, dim, i) => product * (i === kept ? thinned[i]?.picks.length ?? 1 : sizeOf(thinned[i] ?? boundsOf(selection[i] ?? null, dim))), 1);
  if (!(excess <= EXCESS_MAX && cells * cellBytesOf(array, named) <= BYTES_MAX)) return undefined;
  const own = (i: number) => (i === kept ? undefined : thinned[i]);
  return {
    selection: dims.map((_, i) => { const wide = own(i); return wide ? [wide.first, wide.last] as const : selection[i] ?? null; }),
    picked: dims.map((_, i) => own(i)?.picks),
  };
}

interface Bounds { first: bigint; last: bigint }

const sizeOf = ({ first, last }: Bounds): number => Number(last - first) + 1;

/** The ends of a selection of a dimension; without cells if they are not known. */
function boundsOf(given: AxisSelection, dim: TileArray["dims"][number]): Bounds {
  const span = spanOf(given, dim);
  return span ? { first: span.first, last: span.first + span.step * BigInt(span.count - 1) } : { first: 0n, last: BigInt(Number.MAX_SAFE_INTEGER) };
}

/** The coordinates of a thinned dimension, as indices from the first. `undefined` if they are neighbours, or no plain integers of the domain. */
function picksOf(given: AxisSelection, dim: TileArray["dims"][number]): (Bounds & { picks: number[] }) | undefined {
  const list = listed(given);
  if (!list) {
    const { step = 1n, count = 0 } = spanOf(given, dim) ?? {};
    if (step === 1n || count < 2) return undefined;
    return { ...boundsOf(given, dim), picks: Array.from({ length: count }, (_, i) => i * Number(step)) };
  }
  if (!/^u?int/.test(dim.type) || !dim.domain) return undefined;
  const [low, high] = dim.domain.map(BigInt) as [bigint, bigint];
  if (!list.every((at) => (typeof at === "bigint" || Number.isSafeInteger(at)) && BigInt(at as bigint) >= low && BigInt(at as bigint) <= high)) return undefined;
  const places = list.map((at) => BigInt(at as bigint));
  const [first, last] = places.reduce(([least, most], at) => [at < least ? at : least, at > most ? at : most], [high, low]);
  if (places.every((at, i) => at === first + BigInt(i))) return undefined;
  return { first, last, picks: places.map((at) => Number(at - first)) };
}

/** Picks the cells of a result of the engine. If there is `room` of the right size, it gets the cells of the only column. */
export function thinned(found: RawResult, { picked }: Thinning, order: Order, room: Uint8Array | undefined): RawResult {
  const wide = found.shape ?? [];
  const picks = wide.map((length, i) => picked[i] ?? Array.from({ length }, (_, at) => at));
  const shape = picks.map(({ length }) => length);
  const cells = shape.reduce((product, length) => product * length, 1);
  const pick = (data: Uint8Array, width: number, to: Uint8Array) => gather(data, wide, picks, order, width, to);
  const column = ({ data, validity, ...field }: RawColumn): RawColumn => {
    const width = data.length / (found.cells || 1);
    const to = room?.length === cells * width ? room : allocate(cells * width, Uint8Array);
    return { ...field, data: pick(data, width, to), ...(validity ? { validity: pick(validity, 1, allocate(cells, Uint8Array)) } : {}) };
  };
  return { ...found, columns: found.columns.map(column), cells, shape };
}

/** Copies cells of `width` bytes. */
function gather(data: Uint8Array, shape: readonly number[], picks: readonly (readonly number[])[], order: Order, width: number, to: Uint8Array): Uint8Array {
  const slowest = order === "row" ? [...shape.keys()] : [...shape.keys()].reverse();
  let stride = 1;
  const strides = [...shape];
  for (const axis of [...slowest].reverse()) {
    strides[axis] = stride;
    stride *= shape[axis] ?? 1;
  }
  const fastest = picks[slowest.pop() ?? 0] ?? [];
  const rows = slowest.reduce((starts, axis) => starts.flatMap((start) => (picks[axis] ?? []).map((at) => start + at * (strides[axis] ?? 0))), [0]);
  const Typed = [Float64Array, Uint32Array, Uint16Array].find(({ BYTES_PER_ELEMENT: size }) => size === width && (data.byteOffset | to.byteOffset) % size === 0);
  const [source, target] = Typed ? [data, to].map((own) => new Typed(own.buffer as ArrayBuffer, own.byteOffset, own.length / width)) as [Uint32Array, Uint32Array] : [data, to];
  const size = Typed ? 1 : width;
  let next = 0;
  for (const row of rows) {
    for (const at of fastest) for (let i = 0, from = (row + at) * size; i < size; i += 1) target[next++] = source[from + i] as number;
  }
  return to;
}
