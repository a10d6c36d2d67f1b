// Converts values between TileDB's types and JavaScript.
import { check, shown } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import { refuseRounded } from "./exact.js";

/** The names of TileDB's types. */
export type DataType =
  | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64" | "float32" | "float64"
  | "bool" | "char" | "blob" | "any" | "geom_wkb" | "geom_wkt" | `string_${string}` | `datetime_${string}` | `time_${string}`;

/** An array of numbers or, for 64-bit integers, of bigint. */
export type TypedArray =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array | BigUint64Array
  | Float32Array | Float64Array;

/** The typed array that holds values of the type `T`: 64-bit integers, dates and times are bigint. */
export type ArrayOf<T extends DataType> = T extends keyof Arrays ? Arrays[T] : T extends `datetime_${string}` | `time_${string}` ? BigInt64Array : Uint8Array;

interface Arrays {
  int8: Int8Array; int16: Int16Array; int32: Int32Array; int64: BigInt64Array;
  uint8: Uint8Array; uint16: Uint16Array; uint32: Uint32Array; uint64: BigUint64Array;
  float32: Float32Array; float64: Float64Array;
  string_utf16: Uint16Array; string_ucs2: Uint16Array; string_utf32: Uint32Array; string_ucs4: Uint32Array;
}

/** The fields of an array, attributes and dimensions: their types by name. */
export type Fields = Readonly<Record<string, DataType>>;

/** The value of a cell: `null` for null, a typed array if a cell has several values. */
export type Value = number | bigint | string | boolean | null | TypedArray;

/** The value of a cell of the type `T`. */
export type ValueOf<T extends DataType> = null | (T extends `string_${string}` | "char" | "geom_wkt" ? string
  : ArrayOf<T> | (T extends "bool" ? boolean : T extends "int64" | "uint64" | `datetime_${string}` | `time_${string}` ? bigint : number));

/** The type of the field `N` of those in `F`. Any type if it is not known. */
export type TypeOf<F, N> = N extends keyof F ? (F[N] extends DataType ? F[N] : DataType) : DataType;

type Constructor = { new (buffer: ArrayBuffer, offset?: number, length?: number): TypedArray; readonly BYTES_PER_ELEMENT: number; readonly name: string };

const PLAIN: Record<string, Constructor> = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array,
  string_utf16: Uint16Array, string_ucs2: Uint16Array, string_utf32: Uint32Array, string_ucs4: Uint32Array,
  // One byte each.
  char: Uint8Array, bool: Uint8Array,
} as unknown as Record<string, Constructor>;

/** The typed array for values of `type`: 64-bit integers, dates and times are bigint. */
export function arrayOf(type: DataType): Constructor {
  if (/^(datetime|time)_/.test(type)) return BigInt64Array as unknown as Constructor;
  return PLAIN[type] ?? (Uint8Array as unknown as Constructor);
}

/** The type of the values of a typed array. */
export function typeOf(values: TypedArray): DataType {
  const type = { Uint8Array: "uint8", Uint8ClampedArray: "uint8", BigInt64Array: "int64", BigUint64Array: "uint64" } as Record<string, DataType>;
  const name = values[Symbol.toStringTag];
  return type[name] ?? (name.replace("Array", "").toLowerCase() as DataType);
}

export function isText(type: DataType): boolean {
  return type === "char" || type === "geom_wkt" || type.startsWith("string_");
}

/** A column as the engine returns it. */
export interface RawColumn {
  name: string;
  type: DataType;
  /** Values per cell; 0 for variable-length cells. */
  cell: number;
  data: Uint8Array;
  /** The start of each cell in bytes, and the end of the last one. */
  offsets?: Uint32Array;
  validity?: Uint8Array;
}

/** The cells of one field. */
export class Column<T extends DataType = DataType> {
  /** The name of the field. */
  readonly name: string;
  /** The type of the values. */
  readonly type: T;
  /** Values per cell, or `"var"` for variable-length cells. */
  readonly cell: number | "var";
  /** The values of all cells. */
  readonly values: ArrayOf<T>;
  /** For variable-length cells: where each starts in `values`, and where the last one ends. */
  readonly offsets: Uint32Array | undefined;
  /** For nullable fields: 1 for a value, 0 for null. */
  readonly validity: Uint8Array | undefined;
  /** The number of cells. */
  readonly length: number;

  /** @hidden Reads return columns. */
  constructor(raw: RawColumn) {
    const Typed = arrayOf(raw.type);
    const size = Typed.BYTES_PER_ELEMENT;
    this.name = raw.name;
    this.type = raw.type as T;
    this.cell = raw.cell === 0 ? "var" : raw.cell;
    this.values = new Typed(raw.data.buffer as ArrayBuffer, raw.data.byteOffset, raw.data.byteLength / size) as ArrayOf<T>;
    this.offsets = size === 1 ? raw.offsets : raw.offsets?.map((o) => o / size);
    this.validity = raw.validity;
    this.length = this.offsets ? this.offsets.length - 1 : this.values.length / raw.cell;
  }

  /** The cell at `index`. Text is a string, null is `null`, several values are a typed array. */
  at(index: number): ValueOf<T> {
    return this.cellAt(index) as ValueOf<T>;
  }

  private cellAt(index: number): Value {
    if (index < 0 || index >= this.length) throw new RangeError(`cell ${index} is outside a column of ${this.length} cells`);
    if (this.validity && !this.validity[index]) return null;
    if (this.cell === 1 && !isText(this.type)) {
      const value = this.values[index] as number | bigint;
      return this.type === "bool" ? value !== 0 : value;
    }
    const [start, end] = this.offsets
      ? [this.offsets[index], this.offsets[index + 1]]
      : [index * (this.cell as number), (index + 1) * (this.cell as number)];
    const values = this.values.subarray(start, end) as TypedArray;
    return isText(this.type) ? text(values, this.type, this.cell) : values;
  }

  /** The cells in turn, as `at` returns them. */
  *[Symbol.iterator](): Generator<ValueOf<T>> {
    for (let i = 0; i < this.length; i += 1) yield this.at(i);
  }
}

// Keeps U+FEFF at the start of text.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const toUtf8 = new TextEncoder();

function text(values: TypedArray, type: DataType, cell: number | "var"): string {
  if (values instanceof Uint16Array) return new TextDecoder("utf-16le", { ignoreBOM: true }).decode(values);
  if (values instanceof Uint32Array) return Array.from(values, (c) => String.fromCodePoint(c > 0x10ffff ? 0xfffd : c)).join("");
  // Removes the zeros that pad text shorter than its cell.
  if (type === "char" && cell !== "var") return utf8.decode(values).replace(/\0+$/, "");
  return utf8.decode(values);
}

/** A column as typed arrays: values, the starts of variable-length cells, and validity. */
export interface PlainColumn {
  /** The values of all cells. */
  values: TypedArray;
  /** For variable-length cells: where each starts in `values`, and where the last one ends. */
  offsets?: Uint32Array | undefined;
  /** For nullable fields: 1 for a value, 0 for null. */
  validity?: Uint8Array | undefined;
}

/**
 * The input of a write for a field: a typed array of values, a list of cells with `null` for null, or a column. Text is
 * for text fields, for the labels of enumerations, and for dates, which may also be a `Date`.
 */
export type ColumnInput = TypedArray | ArrayLike<Value | Date> | PlainColumn;

/** A column as the engine takes it. With `isText`, the cells are labels of the field's enumeration, or dates. */
export interface RawInput { name: string; data: Uint8Array; offsets?: Uint32Array; validity?: Uint8Array; isText?: boolean }

/** A dimension or an attribute to write. */
interface InputField { type: DataType; cell: number | "var"; nullable?: boolean; enumeration?: string }

/** Encodes a column for the engine. */
export function encode(name: string, field: InputField, input: ColumnInput): RawInput {
  const Typed = arrayOf(field.type);
  const size = Typed.BYTES_PER_ELEMENT;
  if (typeof input !== "object" || input === null) {
    throw new HyperslabError("InvalidArgument", `'${name}': give a typed array, a list of cells, or a column, not ${shown(input)}`);
  }
  const plain = plainColumn(field.cell, input);
  if (plain) {
    const { values, offsets: starts, validity } = plain;
    check({ ...(starts ? { offsets: starts } : {}), ...(validity ? { validity } : {}) });
    const data = bytesOf(name, field.type, values, Typed);
    const offsets = starts && (size === 1 ? starts : starts.map((o) => o * size));
    const cells = offsets ? offsets.length - 1 : values.length / Number(field.cell);
    return { name, data, ...(offsets ? { offsets } : {}), ...valid(field, validity, cells) };
  }
  const cells = Array.from(input as ArrayLike<Value | Date>);
  const isText = (cell: Value | Date) => typeof cell === "string" || cell instanceof Date;
  const takesText = field.cell === 1 && (field.enumeration !== undefined || field.type.startsWith("datetime_"));
  if (!takesText || !cells.some(isText)) return encodeCells(name, field, cells as Value[]);
  const what = field.enumeration === undefined ? "dates" : "labels";
  const other = cells.findIndex((cell) => !isText(cell) && cell !== null && cell !== undefined);
  if (other >= 0) throw new HyperslabError("InvalidArgument", `'${name}' mixes ${what} and other values, such as cell ${other}; give only one kind`);
  const texts = cells.map((cell, i) => (cell instanceof Date ? isoText(name, cell, i) : cell) as Value);
  return { ...encodeCells(name, { type: "string_utf8", cell: "var", nullable: field.nullable ?? false }, texts), isText: true };
}

function isoText(name: string, date: Date, i: number): string {
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new HyperslabError("InvalidArgument", `'${name}': cell ${i} is an invalid Date`);
}

function encodeCells(name: string, field: InputField, cells: Value[]): RawInput {
  const Typed = arrayOf(field.type);
  const size = Typed.BYTES_PER_ELEMENT;
  const width = field.cell === "var" ? undefined : field.cell * size;
  const parts = cells.map((cell, i) => {
    const part = cellBytes(name, field, cell);
    // Short text is padded with zeros, which reading removes.
    const fits = part.length === width || (field.type === "char" && typeof cell === "string" && part.length < (width ?? 0));
    if (fits || width === undefined) return part;
    throw new HyperslabError("InvalidArgument", `each cell of '${name}' holds ${field.cell} values of ${field.type}; cell ${i} has ${part.length / size}`);
  });
  const data = new Uint8Array(parts.reduce((sum, part) => sum + (width ?? part.length), 0));
  const offsets = new Uint32Array(parts.length + 1);
  parts.forEach((part, i) => {
    data.set(part, offsets[i]);
    offsets[i + 1] = (offsets[i] ?? 0) + (width ?? part.length);
  });
  const validity = field.nullable ? Uint8Array.from(cells, (cell) => (cell === null || cell === undefined ? 0 : 1)) : undefined;
  if (!validity && cells.some((cell) => cell === null || cell === undefined)) {
    throw new HyperslabError("InvalidArgument", `'${name}' is not nullable; give a value for each cell`);
  }
  return { name, data, ...(field.cell === "var" ? { offsets } : {}), ...(validity ? { validity } : {}) };
}

function cellBytes(name: string, field: { type: DataType; cell: number | "var" }, cell: Value): Uint8Array {
  const Typed = arrayOf(field.type);
  if (cell === null || cell === undefined) return new Uint8Array(field.cell === "var" ? 0 : field.cell * Typed.BYTES_PER_ELEMENT);
  if (ArrayBuffer.isView(cell)) return bytesOf(name, field.type, cell, Typed);
  if (isText(field.type)) {
    if (typeof cell !== "string") throw new HyperslabError("InvalidArgument", `'${name}' is of type ${field.type}: give a string, not the ${typeof cell} ${String(cell)}`);
    if (cell.isWellFormed?.() === false) throw new HyperslabError("InvalidArgument", `'${name}' is text: ${JSON.stringify(cell)} has a lone surrogate`);
    if (Typed.BYTES_PER_ELEMENT === 1) return toUtf8.encode(cell);
    const units = Typed.BYTES_PER_ELEMENT === 2 ? Array.from({ length: cell.length }, (_, i) => cell.charCodeAt(i)) : Array.from(cell, (c) => c.codePointAt(0) ?? 0);
    return bytes(Typed.BYTES_PER_ELEMENT === 2 ? Uint16Array.from(units) : Uint32Array.from(units));
  }
  const one = new Typed(new ArrayBuffer(Typed.BYTES_PER_ELEMENT));
  if (hold(one, cell) && (field.type !== "bool" || Number(cell) <= 1)) return bytes(one);
  refuseRounded(`'${name}'`, cell);
  throw new HyperslabError("InvalidArgument", `the ${typeof cell} ${String(cell)} does not fit '${name}' of type ${field.type}`);
}

/** Stores a value in an array of length 1. Returns false if it does not fit. */
function hold(one: TypedArray, cell: Value): boolean {
  if (one instanceof BigInt64Array || one instanceof BigUint64Array) {
    const whole = typeof cell === "number" && Number.isSafeInteger(cell) ? BigInt(cell) : cell;
    if (typeof whole === "bigint") one[0] = whole;
    return one[0] === whole;
  }
  if (typeof cell !== "number" && typeof cell !== "boolean") return false;
  one[0] = Number(cell);
  // Floats may be rounded.
  return one instanceof Float32Array || one instanceof Float64Array || one[0] === Number(cell);
}

/** The column, if it was given as typed arrays. */
function plainColumn(cell: number | "var", input: ColumnInput): PlainColumn | undefined {
  if (ArrayBuffer.isView(input)) return cell === "var" ? undefined : { values: input as TypedArray };
  return "values" in input && ArrayBuffer.isView(input.values) ? input : undefined;
}

/** `an Int32Array`, `a Float32Array`. @internal */
export function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

function bytesOf(name: string, type: DataType, values: TypedArray, Typed: Constructor): Uint8Array {
  // Compares tags, because `instanceof` fails for arrays of other frames. Accepts Buffers and the clamped bytes of images.
  if (values[Symbol.toStringTag].replace("Clamped", "") === Typed.name) return bytes(values);
  throw new HyperslabError("InvalidArgument", `'${name}' is of type ${type}: give ${withArticle(Typed.name)}, not ${withArticle(values.constructor.name)}`);
}

function bytes(values: TypedArray): Uint8Array {
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}

function valid(field: { nullable?: boolean }, given: Uint8Array | undefined, cells: number): { validity?: Uint8Array } {
  if (given) return { validity: given };
  return field.nullable ? { validity: new Uint8Array(cells).fill(1) } : {};
}
