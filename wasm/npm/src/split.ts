// A box cut into parts for several workers.
import { concatenated, type RawColumn } from "./values.js";

/** What the engine says of a dimension. */
interface Dim { type: string; domain: readonly [Int, Int] | null; tile: number | null }
/** A box that was read. */
export interface Box { columns: RawColumn[]; cells: number; shape?: number[]; single?: boolean[] }
type Int = number | { int: string };
type Axis = { at?: unknown; range?: [unknown, unknown]; from?: unknown; until?: unknown; step?: number };

/** Cells of a box that one worker reads as quickly as several. */
const FEW = 2 ** 18;

/** The box `selection`, in row-major order, as at most `most` parts of whole tiles: one after another they hold its cells. */
export function split(selection: string, dims: readonly Dim[], most: number): { axis: number; parts: string[] } | undefined {
  const given: unknown = JSON.parse(selection);
  if (!Array.isArray(given) || given.length > dims.length) return undefined;
  const axes = dims.map((_, i) => (given[i] ?? {}) as Axis);
  const spans = axes.map((axis, i) => span(axis, dims[i] as Dim));
  const axis = axes.findIndex((axis) => !("at" in axis));
  const [dim, cut] = [dims[axis], spans[axis]];
  if (!dim?.domain || !dim.tile || !cut || spans.some((span) => !span)) return undefined;
  if (spans.reduce((cells, span) => cells * (span ? span[1] - span[0] + 1n : 1n), 1n) < FEW) return undefined;
  const [start, tile] = [exact(dim.domain[0]) as bigint, BigInt(dim.tile)];
  const [first, last] = cut.map((v) => (v - start) / tile) as [bigint, bigint];
  const tiles = last - first + 1n;
  const n = tiles < most ? tiles : BigInt(most);
  const from = Array.from({ length: Number(n) + 1 }, (_, k) => start + (first + (tiles * BigInt(k)) / n) * tile);
  [from[0], from[Number(n)]] = [cut[0], cut[1] + 1n];
  const part = (lo: bigint, end: bigint) => JSON.stringify(axes.with(axis, { range: [{ int: String(lo) }, { int: String(end - 1n) }] }));
  return { axis, parts: from.slice(1).map((end, k) => part(from[k] as bigint, end)) };
}

/** Parts that lie one after another along `axis`, as one; nothing if that is not what `out` takes. */
export function joined(parts: readonly Box[], axis: number, out: Uint8Array | null | undefined): Box | undefined {
  const [first] = parts;
  if (!first) return undefined;
  const sum = (of: (box: Box) => number) => parts.reduce((sum, box) => sum + of(box), 0);
  const shape = first.shape?.map((n, i) => (i === axis ? sum((box) => box.shape?.[i] ?? 0) : n));
  const box = { ...first, cells: sum(({ cells }) => cells), ...(shape ? { shape } : {}) };
  if (!out) return { ...box, columns: concatenated(parts) };
  const [only, more] = first.columns;
  const fits = only && !more && !only.offsets && sum(({ columns }) => columns[0]?.data.length ?? 0) === out.length;
  return fits ? { ...box, columns: concatenated(parts, out) } : undefined;
}

/** First and last coordinate, where both are integers of the domain. */
function span(axis: Axis, { type, domain }: Dim): [bigint, bigint] | undefined {
  if (!/^u?int/.test(type) || !domain) return undefined;
  const [least, greatest] = domain.map(exact) as [bigint, bigint];
  if ("at" in axis) return [0n, 0n];
  const [lo, hi] = axis.range?.map(exact) ?? [exact(axis.from ?? domain[0]), axis.until == null ? greatest : before(exact(axis.until))];
  if (lo === undefined || hi === undefined || lo > hi || lo < least || hi > greatest || (axis.step ?? 1) !== 1) return undefined;
  return [lo, hi];
}

function exact(value: unknown): bigint | undefined {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  const { int } = (value ?? {}) as { int?: string };
  return int === undefined ? undefined : BigInt(int);
}

function before(value: bigint | undefined): bigint | undefined {
  return value === undefined ? undefined : value - 1n;
}
