// What arrays and groups mean: axes, units, coordinate systems, channels, levels and tables.
import { check } from "./arguments.js";
import { keyOf, OPENING, rawStore, storeOf, TileArray, timeRange, within, type OpenOptions } from "./array.js";
import type { Axis, Dataset } from "./dataset.js";
import { HyperslabError } from "./errors.js";
import { Group } from "./group.js";
import type { Store } from "./store.js";

/** A resolution of an array or image. */
export interface PyramidLevel {
  /** The array with the cells. */
  readonly array: TileArray;
  /** The number of positions along each axis. */
  readonly shape: readonly number[];
  /** How many positions of the finest level one position covers, along each axis. */
  readonly factors: readonly number[];
  /**
   * Where its first position begins, along each axis, in positions of the finest level. Overviews begin where the array was
   * first written, and may begin before its first position.
   */
  readonly start: readonly number[];
  /** The distance between neighbouring positions along each axis, in the unit of the axis. `null` if it is not known. */
  readonly scale: readonly (number | null)[];
}

/** The options of {@link levels}. */
export interface LevelsOptions extends OpenOptions {
  /** What `describe` returned for the same source. Default: it is described again. */
  dataset?: Dataset;
}

/** What can be described: something open, a URL, or a store. */
export type DatasetSource = TileArray | Group | string | URL | Store;

/**
 * Says what an array or a group means, whichever application wrote it: TileDB-CF, GDAL, TileDB-BioImaging, SOMA, PDAL,
 * pandas and others. Reads metadata, and the coordinates of short axes. The result is the `dataset` of
 * `hyperslab info --json`.
 *
 * @example
 * ```js
 * import { describe } from "hyperslab";
 *
 * const { variables } = await describe("https://example.org/arrays/rain");
 * console.log(variables[0].name, variables[0].axes[0].role);
 * ```
 *
 * ```text
 * rain time
 * ```
 */
export async function describe(source: DatasetSource, options: OpenOptions = {}): Promise<Dataset> {
  check<OpenOptions>({ options }, OPENING);
  if (source instanceof TileArray) return JSON.parse(await within(source.store, options.signal, (aborted) => source.raw.describe(aborted)));
  const { store, path, at, key } = placeOf(source, options);
  const [start, end] = timeRange(at);
  return JSON.parse(await within(store, options.signal, async (aborted) => rawStore(store).describe(path, start, end, keyOf(key), aborted)));
}

/**
 * The levels of an image, raster or array with overviews, finest first, with their arrays open. An array without
 * coarser levels is the only one. Overviews that are older than the array's newest write are left out, and levels that
 * cannot be opened. Fails with the code `NotFound` if a group holds no array with levels.
 *
 * @example
 * ```js
 * import { levels } from "hyperslab";
 *
 * for (const { array, shape, factors } of await levels("https://example.org/arrays/elevation")) console.log(array.kind, shape, factors);
 * ```
 *
 * ```text
 * dense [ 1024, 1024 ] [ 1, 1 ]
 * ```
 */
export async function levels(source: DatasetSource, options: LevelsOptions = {}): Promise<PyramidLevel[]> {
  check<LevelsOptions>({ options }, { ...OPENING, dataset: 1 });
  const { dataset: known, ...opening } = options;
  const dataset = known ?? await describe(source, opening);
  const { variables = [] } = dataset;
  const data = variables.filter(({ role }) => role === "data");
  const found = dataset.levels ?? data.slice(0, 1).map(({ path, axes }) => ({ path, shape: axes.map(({ length = 0 }) => length), factors: axes.map(() => 1) }));
  if (found.length === 0) throw new HyperslabError("NotFound", "there is no dense array with levels; see what describe() returns");
  const axes = data.find(({ path }) => path === found[0]?.path)?.axes ?? data[0]?.axes ?? [];
  const isOverview = found[0]?.path === "";
  const all = await Promise.all(found.map(async ({ path, shape, factors }, i) => {
    const opened = openAt(source, path, opening);
    // A coarser level may have been removed since it was listed.
    const array = await (i === 0 ? opened : opened.catch((error: unknown) => lost(error, opening.signal)));
    return array && { array, shape, factors, start: factors.map(() => 0), scale: factors.map((factor, axis) => scaleOf(axes[axis], factor)) };
  }));
  const present = all.filter((level) => level !== undefined);
  return isOverview ? overviewsOf(present, axes) : present;
}

/**
 * The array and its overviews, without those that are older than its newest write: they have older cells. Coordinates in
 * an overview are those of the array, divided.
 */
function overviewsOf([finest, ...overviews]: PyramidLevel[], axes: readonly Axis[]): PyramidLevel[] {
  if (!finest) return [];
  const newest = finest.array.times().at(-1) ?? Infinity;
  const low = ({ dims }: TileArray, axis: number) => Number(dims[axis]?.domain?.[0] ?? 0);
  const first = (axis: number) => axes[axis]?.first ?? low(finest.array, axis);
  const upToDate = overviews.filter(({ array }) => (array.times().at(-1) ?? -Infinity) >= newest);
  return [finest, ...upToDate.map((level) => ({ ...level, start: level.factors.map((factor, axis) => low(level.array, axis) * factor - first(axis)) }))];
}

/** Leaves out a level that is not there or damaged. If the store failed or the caller has aborted, it may be there. */
function lost(error: unknown, signal: AbortSignal | undefined): undefined {
  if (signal?.aborted || (error instanceof HyperslabError && error.code === "Io")) throw error;
}

/** Where a source is, and how it is opened. */
function placeOf(source: DatasetSource, options: OpenOptions): OpenOptions & { store: Store; path: string } {
  if (source instanceof Group) return { ...source.options, signal: options.signal, store: source.store, path: source.path };
  if (!(source instanceof TileArray)) return { ...options, store: storeOf(source, options), path: options.path ?? "" };
  const { store, path, time, key, pool } = source;
  return { ...(time === undefined ? {} : { at: time }), ...(key ? { key } : {}), ...(pool ? { pool } : {}), signal: options.signal, store, path };
}

/** The distance between coordinates that are `factor` positions apart. */
function scaleOf(axis: Axis | undefined, factor: number): number | null {
  const { coordinates } = axis ?? {};
  const step = coordinates?.type === "regular" ? coordinates.step : coordinates?.type === "array" ? coordinates.regular?.step : undefined;
  return step === undefined ? null : Math.abs(step) * factor;
}

/** Opens the array at a path of a description. */
async function openAt(source: DatasetSource, relative: string, options: OpenOptions): Promise<TileArray> {
  if (source instanceof TileArray && relative === "") return source;
  const { store, path: base, ...opened } = placeOf(source, options);
  const parts = base.split("/").filter(Boolean);
  const rest = relative.split("/").filter(Boolean);
  while (rest[0] === ".." && parts.length > 0) {
    parts.pop();
    rest.shift();
  }
  if (rest[0] !== "..") return TileArray.open(store, [...parts, ...rest].join("/"), opened);
  const [, name = "", ...below] = rest;
  const beside = store.beside?.(name);
  if (!beside) throw new HyperslabError("NotFound", `the level ${relative} is next to the store's root, where the store cannot look; open the array from the folder around it`);
  return TileArray.open(beside, below.join("/"), opened);
}
