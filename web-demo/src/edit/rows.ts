// Writes and deletes the rows of tables and points.
import { deleteCells, put, query, type AxisSelection, type Ranges, type TileArray, type TypedArray, type Value } from "hyperslab";
import { countOf, type Range } from "../table/selection";
import type { Field } from "../table/field";
import { cellOf, type Draft } from "./draft";
import { conditionOf } from "./parse";

/** The most rows that can be deleted by their coordinates at once. */
export const DELETED_MAX = 500;

/** Whether several cells may have the same coordinates. If so, writes replace no cells, and coordinates identify none. */
export function allowsDuplicates({ schema }: TileArray): boolean {
  return schema["allows_duplicates"] === true;
}

/** Fails if coordinates do not identify a cell. */
function refuseDuplicates(array: TileArray): void {
  if (allowsDuplicates(array)) throw new Error("This array may have several cells at the same coordinates, so a single cell cannot be changed or deleted. Add cells, or delete all cells that meet a condition.");
}

/**
 * Fails if the row of a draft is no longer what the form has shown. Fields that the user did not change are written as they
 * were, which would undo what somebody else has written since.
 */
async function refuseChanged(array: TileArray, stored: ReadonlyMap<string, Value>): Promise<void> {
  const ranges = Object.fromEntries(array.dims.map(({ name }) => [name, [stored.get(name), stored.get(name)]])) as Ranges;
  const attrs = array.attrs.map(({ name }) => name);
  const { columns, length } = await query(array, { ranges, attrs }).columns();
  const isSame = length === 1 && attrs.every((name) => plain(columns[name]?.at(0)) === plain(stored.get(name)));
  if (!isSame) throw new Error("Somebody else has changed or deleted this row since the form was opened. Choose the row again, and repeat your changes.");
}

/** A text that equal values have in common. */
function plain(value: Value | undefined): string {
  return ArrayBuffer.isView(value) ? [...(value as TypedArray)].join() : typeof value === "boolean" ? String(Number(value)) : String(value);
}

/**
 * Writes a row as one fragment, from a text for each field. It replaces the row at its coordinates. Changing a row fails
 * if the array allows duplicates, or if the row was changed after the draft was made.
 */
export async function writeRow(array: TileArray, draft: Draft, entered: ReadonlyMap<string, string>): Promise<void> {
  if (draft.stored) {
    refuseDuplicates(array);
    await refuseChanged(array, draft.stored);
  }
  const cells = draft.fields.map((field) => [field, cellOf(draft, field, entered)] as const);
  const columns = Object.fromEntries(cells.filter(([{ dimension }]) => array.kind === "sparse" || !dimension).map(([{ name }, cell]) => [name, [cell] as never]));
  const box = array.kind === "sparse" ? null : array.dims.map(({ name }) => {
    const at = cells.find(([field]) => field.name === name)?.[1] as number | bigint;
    return [at, at] as AxisSelection;
  });
  await put(array, box as never, columns);
}

/** Reads the coordinates of rows. Fails if there are too many. */
export async function coordinatesOf(array: TileArray, ranges: readonly Range[], load: (row: number, names: readonly string[]) => Promise<(name: string) => Value | undefined>): Promise<Value[][]> {
  const count = countOf({ ranges, anchor: 0 });
  if (count > DELETED_MAX) throw new Error(`${count.toLocaleString("en")} rows are selected; at most ${DELETED_MAX} can be deleted at once. Enter a condition, and delete all rows that meet it.`);
  const names = array.dims.map(({ name }) => name);
  const found: Value[][] = [];
  for (const [first, last] of ranges) {
    for (let row = first; row <= last; row += 1) {
      const cell = await load(row, names);
      found.push(names.map((name) => cell(name) ?? null));
    }
  }
  return found;
}

/** Deletes the cells at some coordinates. They stay readable at earlier times. Fails if the array allows duplicates. */
export async function deleteRows(array: TileArray, fields: readonly Field[], rows: readonly (readonly Value[])[]): Promise<void> {
  refuseDuplicates(array);
  const dims = array.dims.map(({ name }) => fields.find((field) => field.name === name) as Field);
  await deleteCells(array, rows.map((row) => `(${conditionOf(dims, row)})`).join(" or "));
}

/** Deletes the cells that meet a condition. */
export async function deleteWhere(array: TileArray, where: string): Promise<void> {
  await deleteCells(array, where);
}
