// The only file that speaks to the hyperslab package: arrays as the viewer wants them.
import { get, open, query, slice, type TileArray } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { countRequest } from "./traffic.js";

export interface Axis { name: string; type: string; lo: number; hi: number; extent: number }
export interface Plane { data: ArrayLike<number>; rows: number; cols: number }
export interface Column { type: string; at(i: number): unknown }
export interface Points { length: number; x: Float64Array; y: Float64Array; columns: Record<string, Column> }
/** A closed range on each axis of the picture. */
export interface Box { row: [number, number]; col: [number, number] }

/** What decodes, so that the picture can be moved meanwhile. */
const pool = new Pool();

/** A coarser copy of an array, `factor` cells of the original to one of its own. */
interface Level { factor: number; array: TileArray }

/** One array as the viewer shows it: dense arrays as planes of numbers, sparse ones as points. */
export class Source {
  private constructor(readonly url: string, readonly array: TileArray, private levels: Level[]) {}

  static async open(url: string, at?: number, signal?: AbortSignal): Promise<Source> {
    const options = { pool, onRequest: countRequest, ...(at === undefined ? {} : { at }), ...(signal ? { signal } : {}) };
    const address = new URL(url, location.href).href;
    const array = await open(address, options);
    return new Source(url, array, await overviews(address, array));
  }

  get dense(): boolean { return this.array.kind === "dense"; }

  axes(): Axis[] {
    return this.array.dims.map((d) => ({
      name: d.name, type: d.type, lo: Number(d.domain?.[0] ?? 0), hi: Number(d.domain?.[1] ?? 0), extent: Number(d.tile ?? 0),
    }));
  }

  /** Attributes that can be drawn: one number a cell. */
  drawable(): string[] {
    return this.array.attrs.filter((a) => a.cell === 1 && !/^(string|char|blob|any|geom)/.test(a.type)).map((a) => a.name);
  }

  /** The coarsest level that still has a cell for every pixel at `cellsPerPixel`. */
  level(cellsPerPixel: number): number {
    const fit = this.levels.filter((l) => l.factor <= Math.max(1, cellsPerPixel * 1.01));
    return fit.at(-1)?.factor ?? 1;
  }

  /** The cells of `box`, in cells of the level of this `factor`, counted from the domain's start. */
  async plane(attribute: string, factor: number, box: Box, fixed: number[], signal: AbortSignal): Promise<Plane> {
    const level = this.levels.find((l) => l.factor === factor) ?? { factor: 1, array: this.array };
    const dims = level.array.dims;
    const lo = (i: number) => Number(dims[i]?.domain?.[0] ?? 0);
    const n = dims.length;
    const cut = (i: number, [a, b]: [number, number]) => slice(lo(i) + a, lo(i) + b + 1);
    const selection = dims.map((_, i) => {
      if (i === n - 1) return cut(i, box.col);
      if (i === n - 2) return cut(i, box.row);
      return fixed[i] ?? lo(i);
    });
    const chunk = await get(level.array, selection, { attrs: attribute, signal });
    const rows = box.row[1] - box.row[0] + 1;
    const cols = box.col[1] - box.col[0] + 1;
    return { data: numbers(chunk.data), rows, cols };
  }

  /** The points of a box in the plotted dimensions' coordinates, with every attribute. */
  async points(box: Box, signal: AbortSignal): Promise<Points> {
    const [x, y] = this.plottedDims();
    const ranges: Record<string, [number, number]> = { [x]: box.col, [y]: box.row };
    const columns = await query(this.array, { ranges, signal }).columns();
    const named: Record<string, Column> = {};
    for (const a of this.array.attrs) {
      const c = columns[a.name];
      if (c) named[a.name] = { type: a.type, at: (i) => c.at(i) };
    }
    return { length: columns.length, x: doubles(columns[x]?.values), y: doubles(columns[y]?.values), columns: named };
  }

  /** Names of the horizontal and the vertical dimension: longitude and latitude where there are such. */
  plottedDims(): [string, string] {
    const names = this.array.dims.map((d) => d.name);
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

// Overviews are named by the metadata key `overviews`: JSON, [{"factor": 8, "path": "../mask.8"}].
async function overviews(url: string, array: TileArray): Promise<Level[]> {
  const levels: Level[] = [{ factor: 1, array }];
  const stated = (await array.meta())["overviews"];
  if (typeof stated !== "string") return levels;
  const named = JSON.parse(stated) as { factor: number; path: string }[];
  const base = url.endsWith("/") ? url : `${url}/`;
  const opened = named.map(async ({ factor, path }) => ({
    factor, array: await open(new URL(path, base).href, { pool, onRequest: countRequest }),
  }));
  return [...levels, ...(await Promise.all(opened))].sort((a, b) => a.factor - b.factor);
}

function numbers(data: unknown): ArrayLike<number> {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return doubles(data);
  return data as ArrayLike<number>;
}

function doubles(values: unknown): Float64Array {
  if (values instanceof Float64Array) return values;
  return Float64Array.from((values ?? []) as ArrayLike<number>, Number);
}
