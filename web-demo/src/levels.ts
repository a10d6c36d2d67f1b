// Coarser copies of an array, which `hyperslab overviews` makes: they are drawn where the array's own
// cells are finer than the screen. Coordinate `c` of the array lies in coordinate `c / factor` of a
// copy, rounded down, and a copy spans what was written of the array. Its cells are means.
import { isHyperslabError, open, type OpenOptions, type TileArray } from "hyperslab";

/** The array itself with the factor 1, or a copy: `factor` cells of the array along each axis to one of its own. */
export interface Level { factor: number; array: TileArray }

/**
 * The array and those of its copies that hold the same cells, the finest first. `options` are those the
 * array was opened with: as of its moment, a copy made later holds nothing, and one made before the
 * array's newest write is older than that. Neither is taken.
 */
export async function levelsOf(address: string, array: TileArray, options: OpenOptions): Promise<Level[]> {
  const base = address.endsWith("/") ? address : `${address}/`;
  const named = copies((await array.meta())["overviews"]);
  const opened = await Promise.all(named.map(async ({ factor, path }) => {
    const copy = await openIfThere(new URL(path, base).href, options);
    return copy ? [{ factor, array: copy }] : [];
  }));
  const newest = array.times().at(-1) ?? Infinity;
  const same = opened.flat().filter((level) => (level.array.times().at(-1) ?? -Infinity) >= newest);
  return [{ factor: 1, array }, ...same].sort((a, b) => a.factor - b.factor);
}

/** The first and the last coordinate of a level along an axis of the array. */
export function coarse({ lo, hi }: { lo: number; hi: number }, factor: number): [number, number] {
  return [Math.floor(lo / factor), Math.floor(hi / factor)];
}

/** Copies are named by the metadata key `overviews`: JSON, [{"factor": 8, "path": "../mask.8"}]. What else may be there names none. */
function copies(stated: unknown): { factor: number; path: string }[] {
  if (typeof stated !== "string") return [];
  let list: unknown;
  try {
    list = JSON.parse(stated);
  } catch {
    return [];
  }
  const isCopy = (c: { factor?: unknown; path?: unknown } | null) =>
    Number.isSafeInteger(c?.factor) && (c?.factor as number) > 1 && typeof c?.path === "string";
  return Array.isArray(list) ? list.filter(isCopy) : [];
}

/** A copy that was removed leaves its name behind; the array is whole without it. */
async function openIfThere(address: string, options: OpenOptions): Promise<TileArray | undefined> {
  try {
    return await open(address, options);
  } catch (e) {
    if (isHyperslabError(e) && e.code === "NotFound") return undefined;
    throw e;
  }
}
