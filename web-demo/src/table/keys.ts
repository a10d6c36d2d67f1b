// The keys of rows: the coordinates of a dimension of integers that identifies them. Only the keys of the shown rows are in
// memory, and not even these if they are consecutive.
import { query, type TileArray } from "hyperslab";
import type { Field } from "./field";
import { matchedCells } from "./matched";
import { orderOf, SORTED_MAX, type Cells } from "./order";
import type { View } from "./rows";

/** The keys of rows, in the order in which they are shown. */
export interface Keys {
  readonly length: number;
  at(row: number): number | bigint;
  /** Whether each key is the one after that of the row before. */
  readonly isConsecutive?: boolean;
  /** Whether keys may be beyond the largest signed integer of 64 bits. */
  readonly isUnsigned?: boolean;
}

/** The dimension that identifies rows, and its range if each coordinate in it is a row. */
export interface RowKey { name: string; low: number | bigint; all: number | undefined }

/** An array of integers of any width; TypeScript cannot call methods of a union of these. */
type Integers = Int32Array;

/** The dimension of integers or dates that identifies the rows of an array, if it has such. */
export async function rowKey(array: TileArray, signal: AbortSignal): Promise<RowKey | undefined> {
  const [dim, ...others] = array.dims;
  if (!dim?.domain || others.length > 0 || dim.type.startsWith("float") || array.schema["allows_duplicates"] === true) return undefined;
  const box = array.nonEmptyDomain()?.[0];
  if (!box || typeof box[0] === "string" || typeof box[1] === "string") return { name: dim.name, low: 0, all: 0 };
  const [low, high] = box as [number | bigint, number | bigint];
  const length = Number(BigInt(high) - BigInt(low) + 1n);
  const full = array.kind === "dense" || (await query(array, { signal }).count()) === length;
  return { name: dim.name, low, all: full ? length : undefined };
}

/** The keys of the rows of a view. */
export async function keysOf(array: TileArray, fields: readonly Field[], key: RowKey, view: View, signal: AbortSignal): Promise<Keys> {
  const { where, sort, only } = view;
  // A read of no cells would not check the condition.
  if (key.all === 0 && where) await query(array, { where, signal }).count();
  if (key.all === 0 || (key.all !== undefined && !where && !sort && !only)) return consecutive(key.low, key.all ?? 0);
  const field = fields.find(({ name }) => name === sort?.name);
  const found = await read(array, key, field?.name, where, signal);
  const kept = only ? Uint32Array.from(found.rows.filter((row) => only(found.keys[row] as number | bigint))) : found.rows;
  if (!field || !sort) return listed(found.keys, kept);
  const isKept = new Uint8Array(found.keys.length);
  for (const row of kept) isKept[row] = 1;
  return listed(found.keys, orderOf(field, found.column ?? { values: found.keys, offsets: undefined, validity: undefined, cell: 1, length: found.keys.length }, sort.descending).filter((row) => isKept[row]));
}

/** Reads the keys, and a column to sort by. `rows` has the indices of those that meet the condition. */
async function read(array: TileArray, key: RowKey, sorted: string | undefined, where: string, signal: AbortSignal): Promise<{ keys: Integers; rows: Uint32Array; column: Cells | undefined }> {
  const ranges = array.kind === "dense" && key.all !== undefined ? { [key.name]: [key.low, BigInt(key.low) + BigInt(key.all - 1)] as const } : {};
  if ((key.all ?? 0) > SORTED_MAX) refuse(key.all);
  const attrs = [...new Set([key.name, ...(sorted === undefined ? [] : [sorted])])];
  const options = { ranges, attrs, order: "row", signal, limit: SORTED_MAX + 1, ...(where && array.kind === "sparse" ? { where } : {}) } as const;
  const { length, columns } = await query(array, options).columns();
  if (length > SORTED_MAX) refuse(undefined);
  const keys = columns[key.name]?.values as unknown as Integers;
  const rows = where && array.kind === "dense" ? await matchedCells(array, ranges, where, signal) : Uint32Array.from(keys, (_, i) => i);
  return { keys, rows, column: sorted === undefined || sorted === key.name ? undefined : columns[sorted] };
}

function refuse(rows: number | undefined): never {
  const found = rows === undefined ? `more than ${SORTED_MAX.toLocaleString("en")} rows` : `${rows.toLocaleString("en")} rows`;
  throw new Error(`the table has ${found}, too many to sort or filter at once (at most ${SORTED_MAX.toLocaleString("en")}); enter a condition that fewer rows meet, without sorting`);
}

function consecutive(low: number | bigint, length: number): Keys {
  return { length, isConsecutive: true, at: (row) => (typeof low === "bigint" ? low + BigInt(row) : low + row) };
}

function listed(keys: Integers, order: Uint32Array): Keys {
  return { length: order.length, isUnsigned: (keys as unknown) instanceof BigUint64Array, at: (row) => keys[order[row] ?? 0] as number | bigint };
}
