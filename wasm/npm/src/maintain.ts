import { changeMoment, reached, seed, type Moment, type TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";

/** What is merged, or removed: cells, the fragments' footers, their commit markers, or the array's metadata. */
export type Mode = "fragments" | "fragment-meta" | "commits" | "array-meta";

export interface DeleteOptions {
  /** The time of the delete, which later writes survive. Without it, now, or just after the latest write if that is up to five seconds ahead of the clock. */
  at?: Moment;
  /** Counts the cells, and deletes none. */
  dryRun?: boolean;
}

/** What a delete would remove. */
export interface DeletedCells {
  readonly cells: number;
  /** The same by fragment; fragments that lose no cell are left out. */
  readonly fragments: Readonly<Record<string, number>>;
}

/** Counts the cells that meet the condition, and deletes none. */
export async function deleteCells(array: TileArray, where: string, options: DeleteOptions & { dryRun: true }): Promise<DeletedCells>;
/**
 * Deletes the cells of a sparse array that meet the condition. At earlier times they stay readable. Returns the name of
 * the delete, or `undefined` if no cell can meet the condition.
 */
export async function deleteCells(array: TileArray, where: string, options?: DeleteOptions & { dryRun?: false }): Promise<string | undefined>;
export async function deleteCells(array: TileArray, where: string, options?: DeleteOptions): Promise<string | undefined | DeletedCells>;
export async function deleteCells(array: TileArray, where: string, { at, dryRun = false }: DeleteOptions = {}): Promise<string | undefined | DeletedCells> {
  const time = await changeMoment(array, at);
  if (dryRun) {
    const json = await call(undefined, () => array.raw.countDeleted(where, time, seed()));
    const fragments = JSON.parse(json) as Record<string, number>;
    return { cells: Object.values(fragments).reduce((all, cells) => all + cells, 0), fragments };
  }
  if (at === undefined) await reached(time);
  return call(undefined, () => array.raw.deleteCells(where, time, seed()));
}

export interface ConsolidateOptions {
  /** What is merged: fragments unless given. */
  mode?: Mode;
  /** Only what was written up to a moment, or between two; until now unless given. */
  at?: Moment | readonly [Moment, Moment];
  /** Most cells in the box of merged dense fragments, for each cell of the tiles that these lie in; 1 unless given. More lets boxes that lie far apart be merged. */
  amplification?: number;
}

/**
 * Merges what was written into fewer files, and gives the names of the new ones; none where there is nothing to merge.
 * Readers see the same cells at every time as before. What was merged stays until {@link vacuum}.
 */
export async function consolidate(array: TileArray, { mode = "fragments", at = Date.now(), amplification = 1 }: ConsolidateOptions = {}): Promise<string[]> {
  if (!(amplification >= 1)) throw new HyperslabError("InvalidArgument", `amplification is a number from 1 on, not ${amplification}`);
  const then = await array.at(at);
  return call(undefined, () => then.raw.consolidate(mode, amplification, seed()));
}

export interface VacuumOptions {
  /** What is removed: fragments unless given. */
  mode?: Mode;
}

/** Removes what {@link consolidate} replaced, and gives the paths of what is gone. Arrays that were opened before are to be opened again. */
export async function vacuum(array: TileArray, { mode = "fragments" }: VacuumOptions = {}): Promise<string[]> {
  const now = await array.at(Date.now());
  return call(undefined, () => now.raw.vacuum(mode, seed()));
}
