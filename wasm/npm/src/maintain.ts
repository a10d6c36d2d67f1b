import { check } from "./arguments.js";
import { seed, type Timestamp, type TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { change } from "./turns.js";

/** The files to consolidate or vacuum: fragments, their footers, their commit files, or the array's metadata. */
export type Mode = "fragments" | "fragment-meta" | "commits" | "array-meta";

/** The options of {@link deleteCells}. */
export interface DeleteOptions {
  /** The timestamp of the delete. It does not affect later writes. Default: now, or just after the latest write if that is up to five seconds ahead of the clock. */
  at?: Timestamp;
  /** Only count the cells. */
  dryRun?: boolean;
}

/** The cells that a delete would remove. */
export interface DeletedCells {
  /** The number of cells in total. */
  readonly cells: number;
  /** The number of cells by fragment, without fragments that lose none. */
  readonly fragments: Readonly<Record<string, number>>;
}

/** Counts the cells that meet the condition, without deleting them. */
export async function deleteCells(array: TileArray, where: string, options: DeleteOptions & { dryRun: true }): Promise<DeletedCells>;
/**
 * Deletes the cells of a sparse array that meet the condition. They stay readable at earlier times. Returns the name of
 * the delete, or `undefined` if no cell can meet the condition.
 *
 * @example
 * ```js
 * import { create, deleteCells, MemoryStore, put, query } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "sparse",
 *   dims: [{ name: "day", type: "int32", domain: [1, 365], tile: 30 }],
 *   attrs: [{ name: "rain", type: "float32" }],
 * });
 * await put(array, null, { day: Int32Array.of(1, 2), rain: Float32Array.of(4, -99) });
 * await deleteCells(array, "rain < 0");
 * console.log(await query(array).count());
 * ```
 *
 * ```text
 * 1
 * ```
 */
export async function deleteCells(array: TileArray, where: string, options?: DeleteOptions & { dryRun?: false }): Promise<string | undefined>;
export async function deleteCells(array: TileArray, where: string, options?: DeleteOptions): Promise<string | undefined | DeletedCells>;
export async function deleteCells(array: TileArray, where: string, options: DeleteOptions = {}): Promise<string | undefined | DeletedCells> {
  check<DeleteOptions>({ array, where, options }, { at: 1, dryRun: 1 });
  const { at, dryRun = false } = options;
  return change(array, at, async (time) => {
    if (dryRun) return counted(JSON.parse(await call(undefined, () => array.raw.countDeleted(where, time, seed()))) as DeletedCells["fragments"]);
    const name = await call(undefined, () => array.raw.deleteCells(where, time, seed()));
    await array.changed(time);
    return name;
  });
}

function counted(fragments: DeletedCells["fragments"]): DeletedCells {
  return { cells: Object.values(fragments).reduce((all, cells) => all + cells, 0), fragments };
}

/** The options of {@link consolidate}. */
export interface ConsolidateOptions {
  /** The files to consolidate. Default: `"fragments"`. */
  mode?: Mode;
  /** Consolidate only writes up to this time, or between two times. Default: now. */
  at?: Timestamp | readonly [Timestamp, Timestamp];
  /** The maximum ratio between the cells in the box of merged dense fragments and the cells in their tiles. Default: 1. Larger values merge boxes that are far apart. */
  amplification?: number;
}

/**
 * Consolidates an array into fewer files. Returns the names of the new files, if any. Readers see the same cells as
 * before at every time. The old files stay until {@link vacuum}.
 *
 * @example
 * ```js
 * import { consolidate, create, MemoryStore, put, vacuum } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "sparse",
 *   dims: [{ name: "day", type: "int32", domain: [1, 365], tile: 30 }],
 *   attrs: [{ name: "rain", type: "float32" }],
 * });
 * for (let day = 1; day < 9; day += 1) await put(array, null, { day: Int32Array.of(day), rain: Float32Array.of(day) });
 * await consolidate(array);
 * await vacuum(array);
 * console.log(array.fragments().length);
 * ```
 *
 * ```text
 * 1
 * ```
 */
export async function consolidate(array: TileArray, options: ConsolidateOptions = {}): Promise<string[]> {
  check<ConsolidateOptions>({ array, options }, { mode: 1, at: 1, amplification: 1 });
  const { mode = "fragments", at = Date.now(), amplification = 1 } = options;
  if (!(amplification >= 1)) throw new HyperslabError("InvalidArgument", `amplification must be at least 1, not ${amplification}`);
  const then = await array.at(at);
  const names = await call(undefined, () => then.raw.consolidate(mode, amplification, seed()));
  await array.changed(0);
  return names;
}

/** The options of {@link vacuum}. */
export interface VacuumOptions {
  /** The files to remove. Default: `"fragments"`. */
  mode?: Mode;
}

/** Removes the files that {@link consolidate} replaced, and returns their paths. Other open arrays must be opened again. */
export async function vacuum(array: TileArray, options: VacuumOptions = {}): Promise<string[]> {
  check<VacuumOptions>({ array, options }, { mode: 1 });
  const { mode = "fragments" } = options;
  const now = await array.at(Date.now());
  const paths = await call(undefined, () => now.raw.vacuum(mode, seed()));
  await array.changed(0);
  return paths;
}
