// Overviews: coarser parseOverviews of an array, made by `hyperslab overviews`. They are drawn if the array's cells are smaller
// than a pixel. Their cells are means. Coordinate `c` of the array is in coordinate `floor(c / factor)` of the overview,
// which covers the array's non-empty domain.
import { open, type OpenOptions, type TileArray, type Value } from "hyperslab";

/** The array itself (factor 1) or an overview. One of its cells spans `factor` cells of the array along each axis. */
export interface Level { factor: number; array: TileArray }

/** The maximum number of overviews. The array's metadata lists them, and may be hostile. */
const OVERVIEWS_MAX = 32;

/**
 * The array and its up-to-date overviews, the finest first. `metadata` is the value of the array's metadata key
 * `overviews`, and `options` are those that opened the array. An overview is ignored if it cannot be opened, if it was
 * made after the shown time (it is then empty), or if it is older than the array's newest write.
 */
export async function levelsOf(address: string, array: TileArray, metadata: Value | undefined, options: OpenOptions): Promise<Level[]> {
  const opened = await Promise.all(parseOverviews(metadata).map(async ({ factor, path }) => {
    const url = overviewUrl(path, address);
    const overview = url && (await tryOpen(url, options));
    return overview && overview.kind === "dense" && overview.dims.length === array.dims.length ? [{ factor, array: overview }] : [];
  }));
  const newest = array.times().at(-1) ?? Infinity;
  const same = opened.flat().filter((level) => (level.array.times().at(-1) ?? -Infinity) >= newest);
  return [{ factor: 1, array }, ...same].sort((a, b) => a.factor - b.factor);
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

/** Parses the metadata key `overviews`: JSON such as [{"factor": 8, "path": "../mask.8"}]. Ignores invalid entries. */
function parseOverviews(metadata: unknown): { factor: number; path: string }[] {
  if (typeof metadata !== "string") return [];
  let list: unknown;
  try {
    list = JSON.parse(metadata);
  } catch {
    return [];
  }
  const isOverview = (c: { factor?: unknown; path?: unknown } | null) =>
    Number.isSafeInteger(c?.factor) && (c?.factor as number) > 1 && typeof c?.path === "string";
  return Array.isArray(list) ? list.filter(isOverview).slice(0, OVERVIEWS_MAX) : [];
}

/** Opens an overview. It may have been removed or damaged, although the metadata lists it. */
async function tryOpen(address: string, options: OpenOptions): Promise<TileArray | undefined> {
  return open(address, options).catch((error: unknown) => {
    console.warn(`Ignoring the overview ${address}: ${String(error)}`);
    return undefined;
  });
}
