// Converts query results for drawing and linear algebra libraries.
import { check, shown } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import { refuseRounded } from "./exact.js";
import type { Columns } from "./query.js";
import type { Column, TypedArray } from "./values.js";

/** The names of the fields that hold coordinates. */
export interface PointFields {
  /** The field of the first coordinate. */
  x: string;
  /** The field of the second coordinate. */
  y: string;
  /** The field of the third coordinate, if any. */
  z?: string;
}

/** Interleaved coordinates, as deck.gl's binary attributes take them: `{ value: positions, size }`. */
export interface Points {
  /** The number of points. */
  readonly length: number;
  /** The number of coordinates per point. */
  readonly size: 2 | 3;
  /** `size` coordinates for each point. */
  readonly positions: Float32Array;
}

/**
 * The coordinates of cells, interleaved: `x, y, x, y, …`. They are rounded to 32 bits.
 *
 * @example
 * ```js
 * import { open, points, query } from "hyperslab";
 *
 * const cells = await query(await open("https://example.org/arrays/quakes"), { attrs: ["lon", "lat"] }).columns();
 * const { length, positions } = points(cells, { x: "lon", y: "lat" });
 * console.log(length, positions.length);
 * ```
 *
 * ```text
 * 6 12
 * ```
 */
export function points<F extends object>(cells: Columns<F>, fields: PointFields): Points {
  check<PointFields>({ cells, fields }, { x: 1, y: 1, z: 1 });
  const { x, y, z } = fields;
  const columns = [x, y, ...(z === undefined ? [] : [z])].map((name) => numbers(cells, name));
  const size = columns.length as 2 | 3;
  const positions = new Float32Array(cells.length * size);
  columns.forEach((values, axis) => {
    for (let i = 0; i < cells.length; i += 1) positions[i * size + axis] = Number(values[i]);
  });
  return { length: cells.length, size, positions };
}

/** The names of the fields of a matrix. */
export interface MatrixFields {
  /** The field with the index of the row. */
  row: string;
  /** The field with the index of the column. */
  column: string;
  /** The field with the value. */
  value: string;
  /** The number of rows and columns. Default: up to the last cell. */
  shape?: readonly [number, number];
}

/** A sparse matrix by rows: row `i` has the columns `indices[indptr[i]] … indices[indptr[i + 1] - 1]`, as in SciPy. */
export interface Csr {
  /** The number of rows and columns. */
  readonly shape: readonly [number, number];
  /** The start of each row in `indices` and `data`, and the end of the last one. */
  readonly indptr: Uint32Array;
  /** The column of each value. */
  readonly indices: Uint32Array;
  /** The values, in the type of their field. */
  readonly data: TypedArray;
}

/** A matrix with all of its values, row by row. */
export interface Dense {
  /** The number of rows and columns. */
  readonly shape: readonly [number, number];
  /** The values, in the type of their field. */
  readonly data: TypedArray;
}

/**
 * The cells as a sparse matrix. They may come in any order; within a row they keep it.
 *
 * @example
 * ```js
 * import { csr, open, query } from "hyperslab";
 *
 * const cells = await query(await open("https://example.org/soma/ms/RNA/X/data")).columns();
 * const { indptr, indices } = csr(cells, { row: "soma_dim_0", column: "soma_dim_1", value: "soma_data", shape: [1000, 2000] });
 * console.log(indptr.length, indices.length);
 * ```
 *
 * ```text
 * 1001 5000
 * ```
 */
export function csr<F extends object>(cells: Columns<F>, fields: MatrixFields): Csr {
  const { rows, columns, values, shape } = matrix(cells, fields);
  const indptr = new Uint32Array(shape[0] + 1);
  for (const row of rows) indptr[row + 1] = (indptr[row + 1] ?? 0) + 1;
  for (let row = 0; row < shape[0]; row += 1) indptr[row + 1] = (indptr[row + 1] ?? 0) + (indptr[row] ?? 0);
  const next = indptr.slice();
  const indices = new Uint32Array(rows.length);
  const data = values.slice();
  rows.forEach((row, i) => {
    const place = next[row] ?? 0;
    next[row] = place + 1;
    indices[place] = columns[i] ?? 0;
    data[place] = values[i] as never;
  });
  return { shape, indptr, indices, data };
}

/** The cells as a full matrix, row by row. Missing cells are `fill`, 0 by default. If cells have the same row and column, the last one counts. */
export function toDense<F extends object>(cells: Columns<F>, fields: MatrixFields & { fill?: number | bigint }): Dense {
  const { rows, columns, values, shape } = matrix(cells, fields);
  const size = shape[0] * shape[1];
  if (size > 2 ** 31) throw new HyperslabError("LimitExceeded", `a matrix of ${shape[0]} by ${shape[1]} does not fit in memory; select fewer cells, or use csr()`);
  const data = new (values.constructor as new (length: number) => TypedArray)(size);
  if (fields.fill !== undefined) data.fill(fields.fill as never);
  rows.forEach((row, i) => (data[row * shape[1] + (columns[i] ?? 0)] = values[i] as never));
  return { shape, data };
}

/** The indices and values of a matrix, checked. */
function matrix<F extends object>(cells: Columns<F>, fields: MatrixFields) {
  check<MatrixFields & { fill: unknown }>({ cells, fields }, { row: 1, column: 1, value: 1, shape: 1, fill: 1 });
  const { row, column, value, shape } = fields;
  const [rows, columns] = [row, column].map((name) => indices(name, numbers(cells, name))) as [Uint32Array, Uint32Array];
  const last = (all: Uint32Array) => all.reduce((most, i) => Math.max(most, i + 1), 0);
  const least = [last(rows), last(columns)] as const;
  const given = shape ?? least;
  if (!(Array.isArray(given) && given.length === 2) || !given.every((side) => Number.isInteger(side) && side >= 0 && side < 2 ** 32)) {
    throw new HyperslabError("InvalidArgument", `the shape of a matrix is two whole numbers below 2^32, not ${shown(given)}`);
  }
  if (given[0] < least[0] || given[1] < least[1]) {
    throw new HyperslabError("InvalidArgument", `the cells reach to row ${least[0] - 1} and column ${least[1] - 1}, outside of the shape ${given.join(" by ")}`);
  }
  return { rows, columns, values: numbers(cells, value), shape: [given[0], given[1]] as const };
}

function indices(name: string, values: TypedArray): Uint32Array {
  return Uint32Array.from(values as ArrayLike<number | bigint>, (value) => {
    const index = Number(value);
    if (Number.isInteger(index) && index >= 0 && index < 2 ** 32 - 1) return index;
    refuseRounded(`'${name}'`, value);
    throw new HyperslabError("InvalidArgument", `'${name}' has the coordinate ${value}; the indices of a matrix are whole numbers from 0`);
  });
}

function numbers<F extends object>(cells: Columns<F>, name: string): TypedArray {
  const column = cells.columns[name as keyof F] as Column | undefined;
  if (!column) throw new HyperslabError("InvalidArgument", `the cells have no field '${name}'; their fields are ${Object.keys(cells.columns).join(", ")}`);
  if (column.cell !== 1 || column.offsets) throw new HyperslabError("InvalidArgument", `'${name}' does not have one number per cell; choose another field`);
  if (column.validity?.includes(0)) throw new HyperslabError("InvalidArgument", `'${name}' has nulls; leave them out with the option where: "${name} != null"`);
  return column.values;
}
