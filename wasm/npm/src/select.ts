// Selections, and how the engine wants them.
import { HyperslabError } from "./errors.js";

/** A coordinate: dates may be given as `Date` or as ISO 8601 text. */
export type Coordinate = number | bigint | string | Date;

/** Coordinates from `start` up to `stop`: without `stop` for integers, with it for floats, strings and dates. */
export interface Slice { readonly start: Coordinate | null; readonly stop: Coordinate | null; readonly step: number }

/**
 * Coordinates from `start` to `stop`, every `step`-th; `null` or `undefined` stands for the domain's end. One argument
 * is `stop`; of two the first is `start`, whatever the second is: `slice(2, undefined)` runs to the end.
 */
export function slice(stop: Coordinate | null | undefined): Slice;
export function slice(start: Coordinate | null | undefined, stop: Coordinate | null | undefined, step?: number): Slice;
export function slice(...given: (Coordinate | null | undefined)[]): Slice {
  const [start = null, stop = null, step = 1] = given.length === 1 ? [null, ...given] : given;
  return { start, stop, step: step as number };
}

/** What is selected of a dimension: all of it, a slice, one coordinate, or a closed range. */
export type AxisSelection = null | Slice | Coordinate | readonly [Coordinate, Coordinate];

/**
 * What is selected of an array: a list by dimension, an object by dimension's name, or text in the
 * grammar of the mount (`"0:100,5:20"`). What is not mentioned is taken whole.
 */
export type Selection = readonly AxisSelection[] | { readonly [dimension: string]: AxisSelection } | string | null;

/** Closed ranges by dimension's name; one, or several. */
export type Ranges = { readonly [dimension: string]: readonly [Coordinate, Coordinate] | readonly (readonly [Coordinate, Coordinate])[] };

export function selectionJson(selection: Selection | undefined, dims: readonly { name: string }[]): string {
  if (typeof selection === "string") return JSON.stringify(selection);
  if (typeof (selection ?? {}) !== "object" || selection instanceof Date) {
    throw new HyperslabError("InvalidArgument", `${String(selection)} is no selection: give a list by dimension, as in [${String(selection)}], or an object by name`);
  }
  const axes = Array.isArray(selection) ? selection : byName((selection ?? {}) as Record<string, AxisSelection>, dims);
  return JSON.stringify(axes.map(axis));
}

export function rangesJson(ranges: Ranges | undefined): string {
  const lists = Object.entries(ranges ?? {}).map(([name, given]) => {
    const list = Array.isArray(given?.[0]) ? given : [given];
    if (!list.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw new HyperslabError("InvalidArgument", `a range of '${name}' is two values, [low, high]; several are a list of those`);
    }
    return [name, (list as [Coordinate, Coordinate][]).map((pair) => pair.map(value))];
  });
  return JSON.stringify(Object.fromEntries(lists));
}

function byName(named: Record<string, AxisSelection>, dims: readonly { name: string }[]): AxisSelection[] {
  const unknown = Object.keys(named).find((name) => !dims.some((d) => d.name === name));
  if (unknown !== undefined) {
    throw new HyperslabError("InvalidArgument", `there is no dimension '${unknown}'; the dimensions are ${dims.map((d) => d.name).join(", ")}`);
  }
  return dims.map((d) => named[d.name] ?? null);
}

function axis(given: AxisSelection | undefined): object {
  if (given === null || given === undefined) return {};
  if (Array.isArray(given)) return { range: given.map(value) };
  if (typeof given === "object" && "step" in given) {
    return { from: value(given.start), until: value(given.stop), step: given.step };
  }
  return { at: value(given as Coordinate) };
}

function value(coordinate: Coordinate | null): unknown {
  if (typeof coordinate === "bigint") return { int: coordinate.toString() };
  if (coordinate instanceof Date) return coordinate.toISOString();
  if (typeof coordinate === "number" && !Number.isFinite(coordinate)) return String(coordinate).replace("Infinity", "inf");
  return coordinate;
}
