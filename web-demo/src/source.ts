// Reads arrays for the viewer. Only this file and `levels.ts` use the hyperslab package.
import { get, open, query, type Dim, type TileArray, type Value } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { describeCell, levelsOf, type Level } from "./levels.js";
import { fillOf, nodataOf, type Missing, type Plane } from "./plane.js";
import * as text from "./text.js";
import { countRequest } from "./traffic.js";

export interface Axis { name: string; type: string; lo: number; hi: number; extent: number }
export interface Column { type: string; length: number; at(i: number): unknown }
export interface Points { length: number; x: Float64Array; y: Float64Array; columns: Record<string, Column> }
/** A closed range of coordinates. */
export type Range = [number, number];
/** A closed range on each axis of the picture. */
export interface Box { row: Range; col: Range }

/** Decodes in workers, so that the page stays responsive. */
const pool = new Pool();

/** An array as the viewer shows it: a dense array as planes of numbers, a sparse array as points. */
export class Source {
  private constructor(readonly url: string, readonly array: TileArray, private levels: Level[], private labels: Map<string, Column>, private meta: Readonly<Record<string, Value>>) {}

  /** Opens an array as of a time. */
  static async open(url: string, at = Date.now()): Promise<Source> {
    const options = { pool, onRequest: countRequest, at };
    const address = addressOf(url);
    const array = await open(address, options);
    const [meta, labels] = await Promise.all([array.meta(), labelsOf(array)]);
    const levels = await levelsOf(address, array, meta["overviews"], options);
    return new Source(url, array, levels, labels, meta);
  }

  get dense(): boolean { return this.array.kind === "dense"; }

  axes(): Axis[] {
    return this.array.dims.map((d) => ({
      name: d.name, type: d.type, lo: Number(d.domain?.[0] ?? 0), hi: Number(d.domain?.[1] ?? 0), extent: Number(d.tile ?? 0),
    }));
  }

  /** The vertical and the horizontal axis of a dense array's picture: its last two. A one-dimensional array is one row. */
  sides(): [Axis, Axis] {
    const axes = this.axes();
    const one = { name: "", type: "", lo: 0, hi: 0, extent: 0 };
    return [axes.at(-2) ?? one, axes.at(-1) ?? one];
  }

  /** The attributes that can be drawn: those with one number per cell. */
  drawable(): string[] {
    return this.array.attrs.filter((a) => a.cell === 1 && !/^(string|char|blob|any|geom)/.test(a.type)).map((a) => a.name);
  }

  /** Why the array cannot be drawn; `undefined` if it can. */
  undrawable(): string | undefined {
    if (this.dense && this.drawable().length === 0) return "This array cannot be drawn: no attribute has one number per cell. Choose another array on the left.";
    if (!this.dense && this.plottedDims().includes("")) return "This array cannot be drawn: no dimension is a number or a date. Choose another array on the left.";
    return undefined;
  }

  /** The text for a value of an attribute or a dimension. Indices into an enumeration become its values. */
  shown(name: string, v: unknown): string {
    const labels = this.labels.get(name);
    const field = this.array.attrs.find((a) => a.name === name) ?? this.array.dims.find((d) => d.name === name);
    if (!labels || v === null || v === undefined) return text.value(v, field?.type ?? "");
    const i = Number(v);
    return i >= 0 && i < labels.length ? text.value(labels.at(i), labels.type) : `${text.value(v, "")} (not in the enumeration)`;
  }

  /** The factor of the coarsest level that has the attribute and at least one cell per pixel. */
  level(attribute: string, cellsPerPixel: number): number {
    const fit = this.levels.filter((l) => l.factor <= Math.max(1, cellsPerPixel * 1.01) && l.array.attrs.some((a) => a.name === attribute));
    return fit.at(-1)?.factor ?? 1;
  }

  /** What a cell of the level with this factor is, such as "mean of 4 × 4 cells". */
  describeCell(attribute: string, factor: number): string {
    const level = this.levels.find((l) => l.factor === factor);
    return level ? describeCell(level, attribute) : "";
  }

  /** The fill value of an attribute. `undefined` if it is an ordinary value. */
  fill(attribute: string): number | bigint | undefined {
    const { attributes } = this.array.schema;
    const found = attributes.find((a) => a.name === attribute);
    return found && fillOf(found);
  }

  /** The values of an attribute that mean "no data". */
  missing(attribute: string): Missing {
    const type = this.array.attrs.find((a) => a.name === attribute)?.type ?? "";
    const fill = this.fill(attribute);
    return [...(fill === undefined ? [] : [fill]), ...nodataOf(this.meta, attribute, type)];
  }

  /** Reads the part of `box` in the domain. `box` is in coordinates of the level with this `factor`. `fixed` has the array's coordinates on the other axes. */
  async plane(attribute: string, factor: number, box: Box, fixed: number[], signal: AbortSignal): Promise<Plane> {
    const level = this.levels.find((l) => l.factor === factor);
    const array = level?.array ?? this.array;
    const n = array.dims.length;
    const selection = array.dims.map(({ domain }, i): Range => {
      const at = Math.floor((fixed[i] ?? 0) / (level?.factors[i] ?? 1));
      const [lo, hi] = i === n - 1 ? box.col : i === n - 2 ? box.row : [at, at];
      return [Math.max(lo, Number(domain?.[0] ?? lo)), Math.min(hi, Number(domain?.[1] ?? hi))];
    });
    const [row, col] = [selection.at(-2) ?? box.row, selection.at(-1) ?? box.col];
    const place = { row: row[0], col: col[0], rows: row[1] - row[0] + 1, cols: col[1] - col[0] + 1 };
    if (selection.some(([lo, hi]) => lo > hi)) return { ...place, rows: 0, cols: 0, data: [], validity: undefined, missing: [] };
    const { data, validity } = await get(array, selection, { attrs: attribute, signal });
    return { ...place, data, validity, missing: this.missing(attribute) };
  }

  /** Reads the points in a box of the plotted dimensions, with all attributes. */
  async points(box: Box, signal: AbortSignal): Promise<Points> {
    const [x, y] = this.plottedDims();
    const dim = (name: string) => this.array.dims.find((d) => d.name === name);
    const ranges = { [x]: coordinates(dim(x), box.col), [y]: coordinates(dim(y), box.row) };
    if (Object.values(ranges).some(([lo, hi]) => lo > hi)) return { length: 0, x: doubles([]), y: doubles([]), columns: {} };
    const { columns } = await query(this.array, { ranges, signal }).columns();
    const named = Object.create(null) as Record<string, Column>;
    for (const a of this.array.attrs) {
      const c = columns[a.name];
      if (c) named[a.name] = { type: a.type, length: c.length, at: (i) => c.at(i) };
    }
    const [xs, ys] = [doubles(columns[x]?.values), doubles(columns[y]?.values)];
    return { length: xs.length, x: xs, y: ys, columns: named };
  }

  /** The names of the horizontal and the vertical dimension: longitude and latitude if present. String dimensions cannot be plotted. */
  plottedDims(): [string, string] {
    const names = this.array.dims.filter((d) => d.domain).map((d) => d.name);
    const find = (p: RegExp) => names.find((n) => p.test(n));
    const x = find(/^(lon|longitude|x)$/i) ?? names[1] ?? names[0] ?? "";
    const y = find(/^(lat|latitude|y)$/i) ?? names.find((n) => n !== x) ?? x;
    return [x, y];
  }

  isGeographic(): boolean {
    const [x, y] = this.plottedDims();
    return /^lon/i.test(x) && /^lat/i.test(y);
  }
}

/** The absolute URL of an entered or linked one. */
function addressOf(url: string): string {
  try {
    return new URL(url, location.href).href;
  } catch {
    throw new Error(`${url} is not a URL. Enter one such as https://example.org/arrays/elevation`);
  }
}

/** The values of enumerations, by attribute name. */
async function labelsOf(array: TileArray): Promise<Map<string, Column>> {
  const labelled = array.attrs.filter((a) => a.enumeration !== undefined);
  return new Map(await Promise.all(labelled.map(async (a): Promise<[string, Column]> => [a.name, await array.enumeration(a.name)])));
}

/** Converts a range on the screen to coordinates of a dimension. Those of integers and dates are integers, and exact at the domain's ends. */
function coordinates(dim: Dim | undefined, [lo, hi]: Range): [number, number] | [bigint, bigint] {
  if (!dim?.domain || dim.type.startsWith("float")) return [lo, hi];
  const [first, last] = dim.domain;
  const [from, to] = [Math.ceil(lo), Math.floor(hi)];
  if (typeof first !== "bigint" || typeof last !== "bigint") return [from, to];
  return [BigInt(from) > first ? BigInt(from) : first, BigInt(to) < last ? BigInt(to) : last];
}

function doubles(values: unknown): Float64Array {
  if (values instanceof Float64Array) return values;
  return Float64Array.from((values ?? []) as ArrayLike<number>, Number);
}
