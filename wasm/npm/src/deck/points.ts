// The points of a batch of cells, as arrays for the GPU.
import type { Columns } from "../query.js";
import { HyperslabError } from "../errors.js";
import type { Column, Value } from "../values.js";
import { isMissing, type Missing } from "./missing.js";
import { NO_DATA } from "./texture.js";

/** The fields that place and colour points. */
export interface PointFieldsInput {
  readonly x: string;
  readonly y: string;
  readonly z: string | undefined;
  readonly color: string | undefined;
  readonly rgb: readonly string[] | undefined;
  readonly size: string | undefined;
}

/** Points in the order of the batch. */
export interface Batch {
  readonly id: number;
  readonly length: number;
  readonly columns: Readonly<Record<string, Column>>;
  /** Interleaved coordinates. */
  readonly positions: Float64Array;
  readonly dimensions: 2 | 3;
  /** The values that give colours. */
  readonly values: Float32Array | undefined;
  /** The same values as they are stored, of the field of this name. */
  readonly field: string | undefined;
  /** The smallest and the largest of them. `undefined` without values. */
  readonly extent: readonly [number, number] | undefined;
  /** Red, green, blue and alpha of each point. */
  readonly colors: Uint8Array | undefined;
  /** Radii in pixels, and what they were computed with. */
  radii?: Float32Array;
  radiiOf?: string;
  /** The data for deck.gl. */
  data?: PointsData;
}

/** Binary attributes. deck.gl uploads an attribute again if its object is another one. */
export interface PointsData {
  readonly length: number;
  readonly attributes: { [accessor: string]: { readonly value: Float64Array | Float32Array | Uint8Array; readonly size: number } };
}

/** The batch of the first `length` cells. */
export function batchOf(id: number, cells: Columns, length: number, fields: PointFieldsInput, missing: Missing, rgbMax: number): Batch {
  const columns = cells.columns as Record<string, Column>;
  const axes = [fields.x, fields.y, ...(fields.z === undefined ? [] : [fields.z])].map((name) => numbersOf(columns, name));
  const dimensions = axes.length as 2 | 3;
  const positions = new Float64Array(length * dimensions);
  axes.forEach(({ values }, axis) => {
    for (let i = 0; i < length; i += 1) positions[i * dimensions + axis] = Number(values[i]);
  });
  const values = fields.color === undefined ? undefined : valuesOf(numbersOf(columns, fields.color), length, missing);
  const extent = values && extentOf(columns, fields.color as string, values);
  return { id, length, columns, positions, dimensions, values, field: fields.color, extent, colors: fields.rgb && colorsOf(columns, fields.rgb, length, rgbMax) };
}

/** The radii for a range of sizes; those without a value have the smallest. */
export function radiiOf(batch: Batch, size: string, [low, high]: readonly [number, number], [smallest, largest]: readonly [number, number]): Float32Array {
  const name = JSON.stringify([size, low, high, smallest, largest]);
  if (batch.radii && batch.radiiOf === name) return batch.radii;
  const { values, validity } = numbersOf(batch.columns, size);
  const radii = Float32Array.from({ length: batch.length }, (_, i) => {
    const part = high > low ? (Number(values[i]) - low) / (high - low) : 0.5;
    return validity?.[i] === 0 || Number.isNaN(part) ? smallest : smallest + (largest - smallest) * Math.min(1, Math.max(0, part));
  });
  Object.assign(batch, { radii, radiiOf: name });
  return radii;
}

/** The data of a batch for deck.gl. */
export function dataOf(batch: Batch, radii: Float32Array | undefined): PointsData {
  const before = batch.data;
  if (before && before.attributes["getRadius"]?.value === radii) return before;
  const attributes: PointsData["attributes"] = before ? { ...before.attributes } : {
    getPosition: { value: batch.positions, size: batch.dimensions },
    ...(batch.values ? { getValue: { value: batch.values, size: 1 } } : {}),
    ...(batch.colors ? { getFillColor: { value: batch.colors, size: 4 } } : {}),
  };
  delete attributes["getRadius"];
  if (radii) attributes["getRadius"] = { value: radii, size: 1 };
  batch.data = { length: batch.length, attributes };
  return batch.data;
}

/** All fields of a cell, with the labels of enumerations. */
export function rowOf(batch: Batch, index: number, labels: ReadonlyMap<string, Column>): Record<string, Value> {
  return Object.fromEntries(Object.entries(batch.columns).map(([name, column]) => {
    const value = column.at(index) as Value;
    const own = labels.get(name);
    const label = Number(value);
    return [name, own && value !== null && label >= 0 && label < own.length ? (own.at(label) as Value) : value];
  }));
}

/** The smallest and the largest value that is data and finite. */
function extentOf(columns: Readonly<Record<string, Column>>, field: string, drawn: Float32Array): readonly [number, number] | undefined {
  const { values } = numbersOf(columns, field);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < drawn.length; i += 1) {
    const value = drawn[i] === NO_DATA ? NaN : Number(values[i]);
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : undefined;
}

function valuesOf({ values, validity }: Column, length: number, missing: Missing): Float32Array {
  const floats = new Float32Array(length);
  for (let i = 0; i < length; i += 1) {
    const value = validity?.[i] === 0 ? null : values[i] as number | bigint;
    floats[i] = isMissing(value, missing) ? NO_DATA : Number(value);
  }
  return floats;
}

function colorsOf(columns: Readonly<Record<string, Column>>, names: readonly string[], length: number, most: number): Uint8Array {
  const colors = new Uint8Array(length * 4).fill(255);
  names.slice(0, 3).forEach((name, band) => {
    const { values } = numbersOf(columns, name);
    for (let i = 0; i < length; i += 1) colors[i * 4 + band] = Math.min(255, Math.max(0, Math.round((Number(values[i]) / most) * 255)));
  });
  return colors;
}

function numbersOf(columns: Readonly<Record<string, Column>>, name: string): Column {
  const column = columns[name];
  if (column && column.cell === 1 && !column.offsets) return column;
  throw new HyperslabError("InvalidArgument", `'${name}' does not have one number per cell; choose another field`);
}
