// A rectangle of one attribute's cells, and which of them hold no value.
import type { Value } from "hyperslab";

export interface Plane {
  /** The coordinates of its first cell. */
  row: number; col: number;
  rows: number; cols: number;
  /** What is stored, row by row. */
  data: ArrayLike<number | bigint>;
  /** 0 where a cell is null; absent if the attribute is not nullable. */
  validity: Uint8Array | undefined;
  /** What cells without a value hold. */
  missing: Missing;
}

/** The stored numbers that stand for no value: the fill value, and those that the metadata declares. */
export type Missing = readonly (number | bigint)[];

/** A cell as the number to draw; NaN where there is no value. */
export function numberAt({ data, validity, missing }: Plane, i: number): number {
  const stored = data[i];
  return validity?.[i] === 0 || stored === undefined || missing.includes(stored) ? NaN : Number(stored);
}

/** What the cells of an attribute that nothing was written to hold, from its entry in the schema. */
export function fillOf({ type, fill }: { type: string; fill?: unknown }): number | bigint | undefined {
  // Of so few values the default is one that means something, such as the white of a picture.
  if (type === "bool" || (type === "uint8" && fill === 255) || (type === "int8" && fill === -128)) return undefined;
  if (fill === "NaT") return -(2n ** 63n);
  return stored(fill as Value, type);
}

/**
 * The numbers that the metadata declares to be no values of an attribute: by CF's names for all attributes or, as
 * TileDB-CF and xarray write them, for one; or by the key `nodata`.
 */
export function nodataOf(meta: Readonly<Record<string, Value>>, name: string, type: string): (number | bigint)[] {
  const keys = ["_FillValue", "missing_value", "nodata"].flatMap((key) => [key, `__tiledb_attr.${name}.${key}`]);
  const values = keys.flatMap((key): Value[] => {
    const value = meta[key];
    return ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<number>) : [value ?? null];
  });
  return values.map((value) => stored(value, type)).filter((v) => v !== undefined);
}

/** A number as cells of a type hold it; text of digits is a number too. */
function stored(value: Value, type: string): number | bigint | undefined {
  if (typeof value !== "number" && typeof value !== "bigint" && !(typeof value === "string" && value.trim() !== "")) return undefined;
  const number = Number(value);
  if (Number.isNaN(number)) return undefined;
  if (/^(u?int64$|datetime_|time_)/.test(type)) return /^-?\d+$/.test(String(value)) ? BigInt(value) : undefined;
  return type === "float32" ? Math.fround(number) : number;
}
