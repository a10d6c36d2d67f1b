// Coarser copies of an array, which `hyperslab overviews` makes: they are drawn where the array's own
// cells are finer than the screen. Coordinate `c` of the array lies in coordinate `c / factor` of a
// copy, rounded down, and a copy spans what was written of the array. Its cells are means.
import { open, type OpenOptions, type TileArray, type Value } from "hyperslab";

/** The array itself with the factor 1, or a copy: `factor` cells of the array along each axis to one of its own. */
export interface Level { factor: number; array: TileArray }

/** More are not looked for: whoever writes an array says how many there are. */
const COPIES_MAX = 32;

/**
 * The array and those of its copies that hold the same cells, the finest first. `stated` is the array's metadata
 * `overviews`, and `options` are those it was opened with: as of its moment, a copy made later holds nothing, and one
 * made before the array's newest write is older than that. Neither is taken, nor what cannot be opened: the array is
 * whole without it.
 */
export async function levelsOf(address: string, array: TileArray, stated: Value | undefined, options: OpenOptions): Promise<Level[]> {
  const opened = await Promise.all(copies(stated).map(async ({ factor, path }) => {
    const place = placeOf(path, address);
    const copy = place && (await openIfThere(place, options));
    return copy && copy.kind === "dense" && copy.dims.length === array.dims.length ? [{ factor, array: copy }] : [];
  }));
  const newest = array.times().at(-1) ?? Infinity;
  const same = opened.flat().filter((level) => (level.array.times().at(-1) ?? -Infinity) >= newest);
  return [{ factor: 1, array }, ...same].sort((a, b) => a.factor - b.factor);
}

/** Where a copy is, if it is in the folder that the array is in: an array sends its readers nowhere else. */
function placeOf(path: string, address: string): string | undefined {
  const base = address.endsWith("/") ? address : `${address}/`;
  try {
    const [copy, folder] = [new URL(path, base), new URL("..", base)];
    return copy.origin === folder.origin && copy.pathname.startsWith(folder.pathname) ? copy.href : undefined;
  } catch {
    return undefined;
  }
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
  return Array.isArray(list) ? list.filter(isCopy).slice(0, COPIES_MAX) : [];
}

/** A copy that was removed or is damaged leaves its name behind. */
async function openIfThere(address: string, options: OpenOptions): Promise<TileArray | undefined> {
  return open(address, options).catch((error: unknown) => {
    console.warn(`The overview ${address} is left out: ${String(error)}`);
    return undefined;
  });
}
