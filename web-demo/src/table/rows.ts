// The rows that a table shows. They are read when they are needed, and dropped when others are.
import type { Columns, Ranges, TileArray, Value } from "hyperslab";
import type { Field } from "./field";
import { HeldRows } from "./held";
import { KeyedRows } from "./keyed";
import { keysOf, rowKey } from "./keys";
import type { Range } from "./selection";

/** What to show of an array. */
export interface View {
  /** A condition. Empty: all rows. */
  readonly where: string;
  readonly sort: { readonly name: string; readonly descending: boolean } | undefined;
  /** Which rows to show, by the value of the only dimension. */
  readonly only: ((key: number | bigint) => boolean) | undefined;
  /** A part of the array. Only for tables that are not indexed by one integer. */
  readonly region?: Region | undefined;
}

export interface Region {
  readonly ranges: Ranges;
  /** Whether to show a cell of a batch. All of the region is then read at once. */
  keep(batch: Columns): (i: number) => boolean;
}

export interface Rows {
  readonly length: number;
  /** The value of a cell as it is stored. `undefined`: not read yet. */
  cell(row: number, name: string): Value | undefined;
  /** Reads the fields `names` of the rows from `first` up to, but not including, `end`. */
  load(first: number, end: number, names: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * The closed ranges of the coordinates of rows along the dimension that identifies them. `undefined`: no single dimension
   * does. Fails if there are more than `most` ranges.
   */
  runsOf(ranges: readonly Range[], most: number): { name: string; runs: [bigint, bigint][] } | undefined;
}

/** Finds the rows of a view. Reads the column to sort by and, if there is a condition, the fields of the condition. */
export async function rowsOf(array: TileArray, fields: readonly Field[], view: View, signal: AbortSignal): Promise<Rows> {
  const key = await rowKey(array, signal);
  if (key) return new KeyedRows(array, key.name, await keysOf(array, fields, key, view, signal));
  if (view.only) throw new Error("rows of this table cannot be selected, because it is not indexed by one integer");
  return HeldRows.open(array, fields, view, signal);
}
