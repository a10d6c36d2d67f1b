// Reads the rows of an array at two moments, as text.
import { query, type Columns, type Ranges, type TileArray } from "hyperslab";
import { arrayOf, openPlace, type Opened } from "../opened";
import { exportedText } from "../table/cells";
import { fieldsOf, valueOf, type Field } from "../table/field";
import { changesOf, type RowChange, type RowTexts } from "./changes";

/** The most rows that are compared at each moment. */
export const ROWS_MAX = 200_000;
/** The text of null, which is no text of a value. */
export const NULL = "\0";

/** What changed, in columns that both moments have: dimensions first. */
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

interface Side { readonly array: TileArray; readonly fields: readonly Field[] }

async function readRows({ array, fields }: Side, names: readonly string[], where: string, signal: AbortSignal): Promise<RowTexts> {
  const chosen = names.map((name) => fields.find((field) => field.name === name) as Field);
  const domain = array.nonEmptyDomain();
  if (!domain) return { length: 0, at: () => [] };
  // Of a dense array, only the part that was written has rows. A condition would change its other cells to fill values.
  const ranges = array.kind === "dense" ? Object.fromEntries(array.dims.flatMap(({ name }, i) => (domain[i] ? [[name, domain[i]]] : []))) as Ranges : {};
  const cells: Columns = await query(array, { ranges, ...(where && array.kind === "sparse" ? { where } : {}), attrs: names, limit: ROWS_MAX + 1, signal }).columns();
  if (cells.length > ROWS_MAX) throw new Error(`There are more than ${ROWS_MAX.toLocaleString("en")} rows. Enter a condition that fewer rows meet, or compare exports of both moments with \`hyperslab export --at\`.`);
  const columns = chosen.map((field) => [field, cells.columns[field.name]] as const);
  return {
    length: cells.length,
    at: (row) => columns.map(([field, column]) => {
      const value = valueOf(field, column?.at(row) ?? null);
      return value === null ? NULL : exportedText(field, value);
    }),
  };
}
