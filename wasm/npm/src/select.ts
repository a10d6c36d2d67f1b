// Selections, and their encoding as JSON for the engine.
import { HyperslabError } from "./errors.js";
import { refuseRounded } from "./exact.js";

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

/** The selection of a dimension: all (`null`), a slice, one coordinate, or a closed range. */
export type AxisSelection = null | Slice | Coordinate | readonly [Coordinate, Coordinate];

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
    return { start: isInteger(start) && start < low ? (start === -Infinity ? low : firstFrom(low, start, step)) : start, stop: isInteger(stop) && stop > end ? end : stop, step };
  };
  if (Array.isArray(selection)) return (selection as readonly AxisSelection[]).map((given, i) => cut(given, dims[i]));
  const named = selection as { readonly [dimension: string]: AxisSelection };
  return Object.fromEntries(Object.entries(named).map(([name, given]) => [name, cut(given, dims.find((dim) => dim.name === name))]));
}

export function selectionJson(selection: Selection | undefined, dims: Dims): string {
  if (typeof selection === "string") return JSON.stringify(selection);
  if (typeof (selection ?? {}) !== "object" || selection instanceof Date) {
    throw new HyperslabError("InvalidArgument", `${String(selection)} is not a selection; give a list such as [${String(selection)}], or an object by dimension name`);
  }
  const axes = Array.isArray(selection) ? selection : byName((selection ?? {}) as Record<string, AxisSelection>, dims);
  return JSON.stringify(axes.map((given, i) => axis(given, dims[i])));
}

export function rangesJson(ranges: Ranges | undefined, dims: Dims): string {
  const lists = Object.entries(ranges ?? {}).map(([name, given]) => {
    const list = Array.isArray(given?.[0]) ? given : [given];
    if (!list.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw new HyperslabError("InvalidArgument", `give a range of '${name}' as [low, high], or several as a list of those`);
    }
    const dim = dims.find((d) => d.name === name);
    return [name, (list as [Coordinate, Coordinate][]).map((pair) => pair.map((end) => value(end, dim)))];
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
  if (Array.isArray(given)) return { range: given.map((end) => value(end, dim)) };
  if (typeof given === "object" && "step" in given) {
    refuseRounded("a step", given.step);
    return { from: value(given.start, dim), until: value(given.stop, dim), step: given.step ?? 1 };
  }
  return { at: value(given as Coordinate, dim) };
}

function value(coordinate: Coordinate | null, dim: Dims[number] | undefined): unknown {
  if (!dim?.type.startsWith("float")) refuseRounded(dim ? `'${dim.name}'` : "a coordinate", coordinate);
  if (typeof coordinate === "bigint") return { int: coordinate.toString() };
  if (coordinate instanceof Date) return coordinate.toISOString();
  if (typeof coordinate === "number" && !Number.isFinite(coordinate)) return String(coordinate).replace("Infinity", "inf");
  return coordinate;
}
