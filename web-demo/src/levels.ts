// Overviews: coarser parseOverviews of an array, made by `hyperslab overviews`. They are drawn if the array's cells are smaller
// than a pixel. Their cells are means or the most frequent values. Coordinate `c` of the array is in coordinate
// `floor(c / factor)` of the overview, which covers the array's non-empty domain.
import { open, type OpenOptions, type TileArray, type Value } from "hyperslab";

/**
 * The array itself (factor 1) or an overview. One of its cells spans `factors` cells of the array along each axis, and
 * `factor` along the last two, which are drawn.
 */
export interface Level { factor: number; factors: number[]; methods: Record<string, unknown>; array: TileArray }

/** What a cell of a level is, such as "mean of 1 × 4 × 4 cells". */
export function describeCell({ factors, methods }: Level, attribute: string): string {
  const method = Object.hasOwn(methods, attribute) && methods[attribute] === "mode" ? "most frequent" : "mean";
  return `${method} of ${factors.join(" × ")} cells`;
}

/** The maximum number of overviews. The array's metadata lists them, and may be hostile. */
const OVERVIEWS_MAX = 32;

/**
 * The array and its up-to-date overviews, the finest first. `metadata` is the value of the array's metadata key
 * `overviews`, and `options` are those that opened the array. An overview is ignored if it cannot be opened, if it was
 * made after the shown time (it is then empty), or if it is older than the array's newest write.
 */
export async function levelsOf(address: string, array: TileArray, metadata: Value | undefined, options: OpenOptions): Promise<Level[]> {
  const axes = array.dims.length;
  const opened = await Promise.all(parseOverviews(metadata, axes).map(async ({ path, ...level }) => {
    const url = overviewUrl(path, address);
    const overview = url && (await tryOpen(url, options));
    return overview && overview.kind === "dense" && overview.dims.length === axes ? [{ ...level, array: overview }] : [];
  }));
  const newest = array.times().at(-1) ?? Infinity;
  const same = opened.flat().filter((level) => (level.array.times().at(-1) ?? -Infinity) >= newest);
  return [{ factor: 1, factors: Array<number>(axes).fill(1), methods: {}, array }, ...same].sort((a, b) => a.factor - b.factor);
}

/** The URL of an overview. It must be in the folder that contains the array, so that metadata cannot cause requests elsewhere. */
function overviewUrl(path: string, address: string): string | undefined {
  const base = address.endsWith("/") ? address : `${address}/`;
  try {
    const [url, folder] = [new URL(path, base), new URL("..", base)];
    return url.origin === folder.origin && url.pathname.startsWith(folder.pathname) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** The first and the last coordinate of a level along an axis of the array. */
export function levelRange({ lo, hi }: { lo: number; hi: number }, factor: number): [number, number] {
  return [Math.floor(lo / factor), Math.floor(hi / factor)];
}

/**
 * Parses the metadata key `overviews`: JSON such as [{"factor": 8, "path": "../mask.8"}], with `factors` if axes differ.
 * Ignores invalid entries, and those that shrink the last two axes differently.
 */
function parseOverviews(metadata: unknown, axes: number): (Omit<Level, "array"> & { path: string })[] {
  if (typeof metadata !== "string") return [];
  let list: unknown;
  try {
    list = JSON.parse(metadata);
  } catch {
    return [];
  }
  const isFactor = (f: unknown): f is number => Number.isSafeInteger(f) && (f as number) > 0;
  const parse = (c: { factor?: unknown; factors?: unknown; methods?: unknown; path?: unknown } | null) => {
    const factors: unknown = c?.factors ?? Array(axes).fill(c?.factor);
    if (!Array.isArray(factors) || factors.length !== axes || !factors.every(isFactor) || typeof c?.path !== "string") return [];
    const [row, factor] = [factors.at(-2) ?? factors.at(-1), factors.at(-1)];
    return factor !== undefined && factor > 1 && row === factor ? [{ factor, factors, methods: Object(c.methods ?? {}) as Record<string, unknown>, path: c.path }] : [];
  };
  return Array.isArray(list) ? list.flatMap(parse).slice(0, OVERVIEWS_MAX) : [];
}

/** Opens an overview. It may have been removed or damaged, although the metadata lists it. */
async function tryOpen(address: string, options: OpenOptions): Promise<TileArray | undefined> {
  return open(address, options).catch((error: unknown) => {
    console.warn(`Ignoring the overview ${address}: ${String(error)}`);
    return undefined;
  });
}
