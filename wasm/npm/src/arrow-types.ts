// The Arrow types of fields, and the buffers of columns.
import { binary, bool, dateDay, dictionary, duration, field, fixedSizeList, float, int, list, timestamp, utf8, type ArrowType } from "@uwdata/flechette/src/data-types.js";
import { HyperslabError } from "./errors.js";
import { arrayOf, isText, type Column, type DataType, type TypedArray } from "./values.js";

/** The nodes and the buffers of a column, in the order of a batch. */
export interface ArrowBuffers { nodes: { length: number; nullCount: number }[]; buffers: Uint8Array[] }

const BLOBS = ["blob", "geom_wkb", "any"];
const UNITS = ["sec", "ms", "us", "ns"];
/** Units that Arrow does not have, in units that it has: the factor, or a function to days since 1970. */
const COARSE: Readonly<Record<string, bigint | ((value: bigint) => bigint)>> = {
  hr: 3600n, min: 60n, day: (day) => day, week: (week) => week * 7n,
  month: (month) => daysTo(1970n + month / 12n - (month % 12n < 0n ? 1n : 0n), Number((month % 12n + 12n) % 12n)), year: (year) => daysTo(1970n + year, 0),
};
const NOT_A_TIME = -(2n ** 63n);

/** The Arrow type of a field without an enumeration. */
export function arrowType(type: DataType, cell: number | "var"): ArrowType {
  if (isText(type)) return utf8();
  if (BLOBS.includes(type)) return binary();
  if (cell === 1) return valueType(type);
  const item = field("item", valueType(type), true);
  return cell === "var" ? list(item) : fixedSizeList(item, cell);
}

/** The type of a field with an enumeration. */
export function withIndices(values: ArrowType, indices: DataType, id: number): ArrowType {
  return dictionary(values, valueType(indices), false, id);
}

function valueType(type: DataType): ArrowType {
  const [, isDate, unit = ""] = /^(datetime|time)_(.*)/.exec(type) ?? [];
  if (isDate === "datetime" && typeof COARSE[unit] === "function") return dateDay();
  const arrowUnit = unit in COARSE ? 0 : UNITS.indexOf(unit);
  if (isDate !== undefined && arrowUnit >= 0) return isDate === "datetime" ? timestamp(arrowUnit) : duration(arrowUnit);
  if (type === "bool") return bool();
  if (type === "float32" || type === "float64") return float(type === "float32" ? 1 : 2);
  return int(arrayOf(type).BYTES_PER_ELEMENT * 8, !type.startsWith("u"));
}

/** The buffers of a column. Indices beyond the `labels` of its enumeration are null. */
export function buffersOf(column: Column, labels: number | undefined): ArrowBuffers {
  const { cell, type, length, offsets } = column;
  if (isText(type) || BLOBS.includes(type)) return bytesOf(column);
  const { values, isNull } = valuesOf(column, labels);
  const nulls = cell === 1 && isNull ? (i: number) => column.validity?.[i] === 0 || isNull(i) : nullsOf(column);
  const own = bitmap(length, nulls);
  if (cell === 1) return { nodes: [own.node], buffers: [own.bits, values] };
  const items = column.values.length;
  const inner = bitmap(items, isNull);
  const starts = offsets ? [raw(offsets)] : [];
  return { nodes: [own.node, inner.node], buffers: [own.bits, ...starts, inner.bits, values] };
}

/** Text as UTF-8, and opaque bytes. */
function bytesOf(column: Column): ArrowBuffers {
  const { name, type, length, cell } = column;
  const { node, bits } = bitmap(length, nullsOf(column));
  const isPlain = !isText(type) || (cell === "var" && arrayOf(type).BYTES_PER_ELEMENT === 1);
  if (isPlain) {
    const values = raw(column.values);
    if (isText(type)) checkText(name, values);
    const starts = column.offsets ?? Uint32Array.from({ length: length + 1 }, (_, i) => i * Number(cell));
    return { nodes: [node], buffers: [bits, raw(fits(name, starts)), values] };
  }
  const encoder = new TextEncoder();
  const cells = Array.from({ length }, (_, i) => encoder.encode((column.at(i) as string | null) ?? ""));
  const starts = new Uint32Array(length + 1);
  cells.forEach((bytes, i) => (starts[i + 1] = (starts[i] ?? 0) + bytes.length));
  const values = new Uint8Array(starts[length] ?? 0);
  cells.forEach((bytes, i) => values.set(bytes, starts[i]));
  return { nodes: [node], buffers: [bits, raw(fits(name, starts)), values] };
}

/** The values of a column of numbers, dates or bool as an Arrow buffer, and which of them have no value. */
function valuesOf({ name, type, values }: Column, labels: number | undefined): { values: Uint8Array; isNull?: (i: number) => boolean } {
  if (type === "bool") return { values: bitmap(values.length, (i) => values[i] === 0).bits };
  if (labels !== undefined) {
    const known = (i: number) => Number(values[i]) >= 0 && Number(values[i]) < labels;
    // Readers may look at the labels of nulls too.
    return { values: raw((values as Int32Array).map((index, i) => (known(i) ? index : 0))), isNull: (i) => !known(i) };
  }
  const unit = /^(?:datetime|time)_(.*)/.exec(type)?.[1];
  if (unit === undefined) return { values: raw(values) };
  const isNull = (i: number) => values[i] === NOT_A_TIME;
  const finer = COARSE[type.startsWith("time_") && typeof COARSE[unit] === "function" ? "" : unit];
  if (finer === undefined) return { values: raw(values), isNull };
  const range = typeof finer === "function" ? 32 : 64;
  const converted = Array.from(values as BigInt64Array, (value, i) => {
    if (isNull(i)) return 0n;
    const found = typeof finer === "function" ? finer(value) : value * finer;
    if (BigInt.asIntN(range, found) === found) return found;
    throw new HyperslabError("Unsupported", `'${name}': cell ${i} is a ${type} outside the range of Arrow's dates; leave the field out, or read it with columns()`);
  });
  return { values: raw(range === 32 ? Int32Array.from(converted, Number) : BigInt64Array.from(converted)), isNull };
}

/** Days from 1970 to the first day of a month, which counts from 0. */
function daysTo(year: bigint, month: number): bigint {
  // The calendar repeats every 400 years, which have 146,097 days.
  const cycles = (year - 1970n) / 400n;
  return cycles * 146_097n + BigInt(Date.UTC(Number(year - cycles * 400n), month) / 86_400_000);
}

function nullsOf({ validity }: Column): ((i: number) => boolean) | undefined {
  return validity && ((i) => validity[i] === 0);
}

/** A bit for each value: 1 if it is not null. Empty if none can be. */
function bitmap(length: number, isNull: ((i: number) => boolean) | undefined): { node: { length: number; nullCount: number }; bits: Uint8Array } {
  if (!isNull) return { node: { length, nullCount: 0 }, bits: new Uint8Array() };
  const bits = new Uint8Array(Math.ceil(length / 8));
  let nullCount = 0;
  for (let i = 0; i < length; i += 1) {
    if (isNull(i)) nullCount += 1;
    else bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
  }
  return { node: { length, nullCount }, bits };
}

function raw(values: TypedArray): Uint8Array {
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}

function checkText(name: string, bytes: Uint8Array): void {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new HyperslabError("Unsupported", `'${name}' has bytes that are not text, which Arrow's strings cannot hold; leave it out, or read it with columns()`, { cause: error });
  }
}

/** Offsets, if they fit the 31 bits that Arrow has for them. */
function fits(name: string, starts: Uint32Array): Uint32Array {
  if ((starts.at(-1) ?? 0) < 2 ** 31) return starts;
  throw new HyperslabError("LimitExceeded", `'${name}' has more than 2 GiB in one batch; set a smaller batchBytes`);
}
