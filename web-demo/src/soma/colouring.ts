// The values that observations are coloured by: categories or numbers.
import type { Field } from "../table/field";
import type { Cells } from "../table/order";

/** A category for each observation; -1 for none. */
export interface Categories {
  readonly kind: "categories";
  readonly name: string;
  readonly labels: readonly string[];
  readonly codes: Int32Array;
  /** The number of observations of each category. */
  readonly counts: Uint32Array;
}

/** A number for each observation; NaN for none. */
export interface Numbers {
  readonly kind: "numbers";
  readonly name: string;
  readonly values: Float32Array;
  readonly low: number;
  readonly high: number;
}

export type Colouring = Categories | Numbers;

/** The maximum number of categories. */
export const CATEGORIES_MAX = 2000;

/** Whether observations can be coloured by a column. */
export function isColour({ name, sort, dimension }: Field): boolean {
  return !dimension && name !== "soma_joinid" && sort !== "list" && sort !== "bytes" && sort !== "date";
}

/** Whether a column has few enough categories for sure. Text may have too many values. */
export function isCategory({ sort, labels }: Field): boolean {
  return sort === "bool" || (labels !== undefined && labels.length <= CATEGORIES_MAX);
}

/** The values of a column, read in the order of the rows. `text` decodes a cell of text. */
export function colouringOf(field: Field, column: Cells & { at(i: number): unknown }): Colouring {
  if (field.labels) return categories(field.name, labelsOf(field), codesOf(column, field.labels.length));
  if (field.sort === "bool") return categories(field.name, ["false", "true"], codesOf(column, 2));
  return field.sort === "text" ? textCategories(field.name, column) : numbers(field.name, floats(column));
}

export function categories(name: string, labels: readonly string[], codes: Int32Array): Categories {
  const counts = new Uint32Array(labels.length);
  for (const code of codes) if (code >= 0) counts[code] = (counts[code] ?? 0) + 1;
  return { kind: "categories", name, labels, codes, counts };
}

export function numbers(name: string, values: Float32Array): Numbers {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low <= high ? { kind: "numbers", name, values, low, high } : { kind: "numbers", name, values, low: 0, high: 0 };
}

function labelsOf({ name, labels }: Field): string[] {
  const count = labels?.length ?? 0;
  if (count > CATEGORIES_MAX) tooMany(name, count);
  return Array.from({ length: count }, (_, i) => String(labels?.at(i)));
}

function codesOf({ values, validity, length }: Cells, count: number): Int32Array {
  const codes = new Int32Array(length);
  for (let i = 0; i < length; i += 1) {
    const code = Number(values[i]);
    codes[i] = validity?.[i] === 0 || !(code >= 0 && code < count) ? -1 : code;
  }
  return codes;
}

function textCategories(name: string, column: Cells & { at(i: number): unknown }): Categories {
  const known = new Map<string, number>();
  const codes = new Int32Array(column.length);
  for (let i = 0; i < column.length; i += 1) {
    const label = column.at(i);
    if (label === null) {
      codes[i] = -1;
      continue;
    }
    const code = known.get(String(label)) ?? known.size;
    if (code === CATEGORIES_MAX) tooMany(name, undefined);
    known.set(String(label), code);
    codes[i] = code;
  }
  // Labels in alphabetical order.
  const order = [...known].sort(([a], [b]) => (a < b ? -1 : 1));
  const rank = new Int32Array(known.size);
  order.forEach(([, code], place) => (rank[code] = place));
  return categories(name, order.map(([label]) => label), codes.map((code) => (code < 0 ? -1 : (rank[code] ?? -1))));
}

function tooMany(name: string, count: number | undefined): never {
  throw new Error(`${name} has ${count === undefined ? `more than ${CATEGORIES_MAX}` : count} different values, too many for a legend; choose another column`);
}

function floats({ values, validity, length }: Cells): Float32Array {
  const out = new Float32Array(length);
  for (let i = 0; i < length; i += 1) out[i] = validity?.[i] === 0 ? NaN : Number(values[i]);
  return out;
}
