// Finds the changes in the rows of an array between two moments.
import type { TileArray } from "hyperslab";
import { arrayOf, openPlace, type Opened } from "../opened";
import { fieldsOf } from "../table/field";
import { changesOf, type RowChange } from "./changes";
import { readRows, type Side } from "./texts";

/** The changes, in the columns that both moments have. Dimensions come first. */
export interface Changes {
  readonly names: readonly string[];
  readonly rows: readonly RowChange[];
  /** The names of columns that only one moment has. */
  readonly others: readonly string[];
}

/** Compares what is open with another moment. Rows that do not meet a condition do not count. */
export async function readChanges(opened: Opened, time: number, where: string, signal: AbortSignal): Promise<Changes> {
  const [now, then] = [arrayOf(opened), arrayOf(await openPlace(opened.place, time))];
  if (!now || !then) throw new Error("A group has no rows. Open one of its arrays.");
  const [earlier, later] = time > (opened.at ?? Infinity) ? [now, then] : [then, now];
  const table = opened.dataset.tables?.find(({ path }) => path === "");
  const side = async (array: TileArray): Promise<Side> => ({ array, fields: await fieldsOf(array, table) });
  const [before, after] = await Promise.all([side(earlier), side(later)]);
  const names = after.fields.map(({ name }) => name).filter((name) => before.fields.some((field) => field.name === name));
  const others = [...before.fields, ...after.fields].map(({ name }) => name).filter((name) => !names.includes(name));
  const [old, fresh] = await Promise.all([readRows(before, names, where, signal), readRows(after, names, where, signal)]);
  return { names, others, rows: changesOf(old, fresh, now.dims.length) };
}
