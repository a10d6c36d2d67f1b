// The rows of an array at a moment, as text.
import { query, type Ranges, type TileArray } from "hyperslab";
import { exportedText } from "../table/cells";
import { valueOf, type Field } from "../table/field";
import { bytesOf } from "../table/keyed";
import type { RowTexts } from "./changes";

/** The most rows that are compared at each moment, and the approximate memory that they may take. */
const ROWS_MAX = 200_000;
const BYTES_MAX = 256 * 2 ** 20;
const BATCH_BYTES = 2 ** 20;
/** The approximate overhead of a string, in bytes. */
const TEXT_BYTES = 32;
/** The text of null. No value has this text. */
export const NULL = "\0";

/** An array at a moment. */
export interface Side { readonly array: TileArray; readonly fields: readonly Field[] }

/** Reads rows as text. Fails if they take too much memory. */
export async function readRows({ array, fields }: Side, names: readonly string[], where: string, signal: AbortSignal, bytesMax = BYTES_MAX): Promise<RowTexts> {
  const chosen = names.map((name) => fields.find((field) => field.name === name) as Field);
  const domain = array.nonEmptyDomain();
  if (!domain) return { length: 0, at: () => [] };
  // Of a dense array, only the part that was written has rows. A condition would change its other cells to fill values.
  const ranges = array.kind === "dense" ? Object.fromEntries(array.dims.flatMap(({ name }, i) => (domain[i] ? [[name, domain[i]]] : []))) as Ranges : {};
  const found: string[][] = [];
  let bytes = 0;
  for await (const { length, columns } of query(array, { ranges, ...(where && array.kind === "sparse" ? { where } : {}), attrs: names, batchBytes: BATCH_BYTES, limit: ROWS_MAX + 1, signal })) {
    bytes += names.reduce((sum, name) => sum + (columns[name] ? bytesOf(columns[name]) : 0), TEXT_BYTES * names.length * length);
    const excess = found.length + length > ROWS_MAX ? `There are more than ${ROWS_MAX.toLocaleString("en")} rows` : bytes > bytesMax ? `The rows take more than ${Math.round(bytesMax / 2 ** 20).toLocaleString("en")} MiB` : undefined;
    if (excess) throw new Error(`${excess}. Enter a condition that fewer rows meet, or compare exports of both moments with \`hyperslab export --at\`.`);
    const texts = chosen.map((field): ((row: number) => string) => {
      const column = columns[field.name];
      return (row) => {
        const value = valueOf(field, column?.at(row) ?? null);
        return value === null ? NULL : exportedText(field, value);
      };
    });
    for (let row = 0; row < length; row += 1) found.push(texts.map((text) => text(row)));
  }
  return { length: found.length, at: (row) => found[row] ?? [] };
}
