// Selections, and their encoding as JSON for the engine.
import { check, shown } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import { refuseRounded } from "./exact.js";
import type { TypedArray } from "./values.js";

/** A coordinate. Dates may be a `Date` or ISO 8601 text. Integers beyond 2^53 must be bigint. */
export type Coordinate = number | bigint | string | Date;

/** Coordinates from `start` to `stop`. `stop` is excluded for integers, and included for floats, strings and dates. */
export interface Slice {
  /** The first coordinate; `null` is the start of the domain. */
  readonly start: Coordinate | null;
  /** The end; `null` is the end of the domain. */
  readonly stop: Coordinate | null;
  /** The distance between selected coordinates; 1 or `null`, as in slices of zarrita, selects all. */
  readonly step: number | null;
}

/**
 * Every `step`-th coordinate from `start` to `stop`. `null` and `undefined` mean the end of the domain. A single argument
 * is `stop`. With two, the first is `start`, even if the second is `undefined`: `slice(2, undefined)` reaches the end.
 */
export function slice(stop: Coordinate | null | undefined): Slice;
export function slice(start: Coordinate | null | undefined, stop: Coordinate | null | undefined, step?: number): Slice;
export function slice(...given: (Coordinate | null | undefined)[]): Slice {
  const [start = null, stop = null, step = 1] = given.length === 1 ? [null, ...given] : given;
  return { start, stop, step: step as number };
}

/** Coordinates one by one, in any order. */
export interface List {
  /** The coordinates. */
  readonly list: readonly Coordinate[];
}

/**
 * Coordinates one by one: `get(array, [list([1, 5, 9]), slice(0, 10)])`. Lists of several dimensions select every
 * combination. The result has the order of the list; a coordinate may occur twice.
 */
export function list(coordinates: Iterable<Coordinate>): List {
  check({ coordinates });
  return { list: [...coordinates] };
}

/** The selection of a dimension: all (`null`), a slice, one coordinate, a closed range, or a list. A typed array is a list. */
export type AxisSelection = null | Slice | Coordinate | readonly [Coordinate, Coordinate] | List | TypedArray;

/**
 * The selection of an array: a list by dimension, an object by dimension name, or text in the grammar of the mount
 * (`"0:100,5:20"`). Missing dimensions are selected whole.
 */
export type Selection = readonly AxisSelection[] | { readonly [dimension: string]: AxisSelection } | string | null;

/** One or several closed ranges, by dimension name. */
export type Ranges = { readonly [dimension: string]: readonly [Coordinate, Coordinate] | readonly (readonly [Coordinate, Coordinate])[] };

type End = number | bigint;
type Dims = readonly { readonly name: string; readonly type: string; readonly domain?: readonly [End, End] }[];

/** The first coordinate from `low` on that is whole steps after `start`. */
function firstFrom(low: End, start: End, step: number | null): End {
  const missing = BigInt(low) - BigInt(start);
  const steps = step !== null && Number.isSafeInteger(step) && step > 0 ? BigInt(step) : 1n;
  const first = BigInt(low) + (steps - (missing % steps)) % steps;
  return typeof low === "bigint" ? first : Number(first);
}

/** The selection for a read, with slices of integers cut at the ends of the domain. */
export function clamped(selection: Selection | undefined, dims: Dims): Selection | undefined {
  if (selection === null || typeof selection !== "object" || selection instanceof Date) return selection;
  const cut = (given: AxisSelection, dim: Dims[number] | undefined): AxisSelection => {
    if (!dim?.domain || typeof given !== "object" || given === null || !("step" in given)) return given;
    const [low, high] = dim.domain;
    const end: End = typeof high === "bigint" ? high + 1n : high + 1;
    const { start, stop, step } = given;
    const isInteger = (at: Coordinate | null): at is End => /^u?int/.test(dim.type) && (typeof at === "bigint" || (typeof at === "number" && (Number.isInteger(at) || Math.abs(at) === Infinity)));
    return { start: isInteger(start) && start < low ? (start === -Infinity ? low : firstFrom(low, start, step)) : start, stop: isInteger(stop) && stop >= end ? (isLast(high, dim.type) ? null : end) : stop, step };
  };
  if (Array.isArray(selection)) return (selection as readonly AxisSelection[]).map((given, i) => cut(given, dims[i]));
  const named = selection as { readonly [dimension: string]: AxisSelection };
  return Object.fromEntries(Object.entries(named).map(([name, given]) => [name, cut(given, dims.find((dim) => dim.name === name))]));
}

/** Whether a coordinate is the greatest of its type: then the end of a slice after it has no number. */
function isLast(high: End, type: string): boolean {
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(type) ?? [];
  return bits !== undefined && BigInt(high) === 2n ** BigInt(Number(bits) - (unsigned ? 0 : 1)) - 1n;
}

export function selectionJson(selection: Selection | undefined, dims: Dims): string {
  if (typeof selection === "string") return JSON.stringify(selection);
  if (typeof (selection ?? {}) !== "object" || selection instanceof Date) {
    throw new HyperslabError("InvalidArgument", `${String(selection)} is not a selection; give a list such as [${String(selection)}], or an object by dimension name`);
  }
  return JSON.stringify(axesOf(selection, dims).map((given, i) => axis(given, dims[i])));
}

/** The selection as a list by dimension. */
export function axesOf(selection: Exclude<Selection, string> | undefined, dims: Dims): readonly AxisSelection[] {
  return Array.isArray(selection) ? selection : byName((selection ?? {}) as Record<string, AxisSelection>, dims);
}

/**
 * The selection of a read. If it has lists, it is encoded as ranges, and the engine does not say which dimensions have a
 * single coordinate; `isSingle` does, from the shape of the result.
 */
export function boxJson(selection: Selection | undefined, dims: Dims): { json: string; isSingle?: (shape: readonly number[]) => boolean[] } {
  if (typeof selection !== "object" || selection === null || selection instanceof Date) return { json: selectionJson(selection, dims) };
  const axes = axesOf(selection, dims);
  if (!axes.some((given) => listed(given))) return { json: selectionJson(selection, dims) };
  if (axes.length > dims.length) throw new HyperslabError("InvalidArgument", `${axes.length} ranges were given, but the array has ${dims.length} dimensions`);
  const ranges = dims.flatMap(({ name }, i) => {
    const found = rangesOf(axes[i] ?? null, dims[i]);
    return found ? [[name, found.map((pair) => pair.map((end) => value(end, dims[i])))] as const] : [];
  });
  const isCoordinate = (given: AxisSelection | undefined) => given !== undefined && given !== null && (typeof given !== "object" || given instanceof Date);
  return { json: JSON.stringify(Object.fromEntries(ranges)), isSingle: (shape) => shape.map((length, i) => length === 1 && isCoordinate(axes[i])) };
}

/** The coordinates of a list; `undefined` for other selections. */
export function listed(given: AxisSelection | undefined): readonly Coordinate[] | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  if (ArrayBuffer.isView(given)) return Array.from(given as Iterable<number | bigint>);
  return "list" in given ? list(given.list).list : undefined;
}

type Range = readonly [Coordinate | null, Coordinate | null];

/** The closed ranges of a selection; `undefined` for the whole dimension. */
function rangesOf(given: AxisSelection, dim: Dims[number] | undefined): Range[] | undefined {
  if (given === null) return undefined;
  const own = listed(given);
  if (own) return runs(own, dim);
  if (Array.isArray(given)) return [(given as Coordinate[]).map((end) => known(end, dim?.name)) as unknown as Range];
  if (typeof given !== "object" || given instanceof Date) return [[given as Coordinate, given as Coordinate]];
  const { start, stop } = given as Slice;
  const step = (given as Slice).step ?? 1;
  const isInteger = /^u?int/.test(dim?.type ?? "");
  if (step === 1) return [[start, isInteger && stop !== null ? before(stop) : stop]];
  const [from, end] = [start ?? dim?.domain?.[0], stop === null ? dim?.domain?.[1] : isInteger ? before(stop) : stop].map(whole);
  if (from === undefined || end === undefined || !Number.isSafeInteger(step) || step < 1) {
    throw new HyperslabError("InvalidArgument", `next to a list, a slice with a step needs integers; give '${dim?.name ?? ""}' as a list`);
  }
  const found: Range[] = [];
  for (let at = from; at <= end; at += BigInt(step)) found.push([at, at]);
  return found;
}

/** Ranges of consecutive coordinates. */
function runs(coordinates: readonly Coordinate[], dim: Dims[number] | undefined): Range[] {
  if (coordinates.length === 0) throw new HyperslabError("InvalidArgument", `the list of '${dim?.name ?? ""}' is empty; give at least one coordinate`);
  const found: [Coordinate, Coordinate][] = [];
  for (const given of coordinates) {
    const coordinate = known(given, dim?.name);
    const last = found.at(-1);
    const [low, high] = [whole(last?.[1]), whole(coordinate)];
    if (last && low !== undefined && high === low + 1n) last[1] = coordinate;
    else found.push([coordinate, coordinate]);
  }
  return found;
}

function whole(value: unknown): bigint | undefined {
  return typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
}

/** Refuses `null` and `undefined`, such as the result of a search that found nothing. */
function known(coordinate: Coordinate, name = ""): Coordinate {
  if (coordinate !== null && coordinate !== undefined) return coordinate;
  throw new HyperslabError("InvalidArgument", `a coordinate of '${name}' is ${String(coordinate)}; give a number, text or a date, or slice() for a range with an open end`);
}

function before(end: Coordinate): Coordinate {
  return typeof end === "number" ? end - 1 : typeof end === "bigint" ? end - 1n : end;
}

export function rangesJson(ranges: Ranges | undefined, dims: Dims): string {
  const lists = Object.entries(ranges ?? {}).map(([name, given]) => {
    const list = Array.isArray(given?.[0]) ? given : [given];
    if (!list.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw new HyperslabError("InvalidArgument", `give a range of '${name}' as [low, high], or several as a list of those`);
    }
    const dim = dims.find((d) => d.name === name);
    return [name, (list as [Coordinate, Coordinate][]).map((pair) => pair.map((end) => value(known(end, name), dim)))];
  });
  return JSON.stringify(Object.fromEntries(lists));
}

function byName(named: Record<string, AxisSelection>, dims: Dims): AxisSelection[] {
  const unknown = Object.keys(named).find((name) => !dims.some((d) => d.name === name));
  if (unknown !== undefined) {
    throw new HyperslabError("InvalidArgument", `there is no dimension '${unknown}'; the dimensions are ${dims.map((d) => d.name).join(", ")}`);
  }
  return dims.map((d) => (Object.hasOwn(named, d.name) ? named[d.name] : null) ?? null);
}

function axis(given: AxisSelection | undefined, dim: Dims[number] | undefined): object {
  if (given === null || given === undefined) return {};
  if (listed(given)) throw new HyperslabError("InvalidArgument", "a write fills a box; give a range in place of the list");
  if (Array.isArray(given)) return { range: given.map((end) => value(known(end as Coordinate, dim?.name), dim)) };
  if (typeof given === "object" && "step" in given) {
    if (given.step !== null && typeof given.step !== "number") throw new HyperslabError("InvalidArgument", `a step must be a number, not ${shown(given.step)}`);
    refuseRounded("a step", given.step);
    return { from: value(given.start, dim), until: value(given.stop, dim), step: given.step ?? 1 };
  }
  return { at: value(given as Coordinate, dim) };
}

/** A coordinate as JSON for the engine. `null` is an end of the domain, in slices only. */
function value(coordinate: Coordinate | null, dim: Dims[number] | undefined): unknown {
  if (!dim?.type.startsWith("float")) refuseRounded(dim ? `'${dim.name}'` : "a coordinate", coordinate);
  if (typeof coordinate === "bigint") return { int: coordinate.toString() };
  if (coordinate instanceof Date) return coordinate.toISOString();
  if (typeof coordinate === "number" && !Number.isFinite(coordinate)) return String(coordinate).replace("Infinity", "inf");
  if (coordinate === null || typeof coordinate === "number" || typeof coordinate === "string") return coordinate;
  throw new HyperslabError("InvalidArgument", `${dim ? `'${dim.name}'` : "a coordinate"}: ${shown(coordinate)} is no coordinate; give a number, text, a date, a range as [low, high] or a slice()`);
}
