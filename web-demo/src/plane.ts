// A rectangle of one attribute's cells.
import type { Value } from "hyperslab";

export interface Plane {
  /** The coordinates of the first cell. */
  row: number; col: number;
  rows: number; cols: number;
  /** The stored values in row-major order. */
  data: ArrayLike<number | bigint>;
  /** 0 for null cells; `undefined` if the attribute is not nullable. */
  validity: Uint8Array | undefined;
  /** Stored values that mean "no data". */
  missing: Missing;
}

/** Stored values that mean "no data": the fill value, and the nodata values of the metadata. */
export type Missing = readonly (number | bigint)[];

/** The value of a cell as a number to draw; NaN for null and nodata. */
export function numberAt({ data, validity, missing }: Plane, i: number): number {
  const stored = data[i];
  return validity?.[i] === 0 || stored === undefined || missing.includes(stored) ? NaN : Number(stored);
}

/** The fill value of an attribute, from its entry in the schema. `undefined` if it is an ordinary value. */
export function fillOf({ type, fill }: { type: string; fill?: unknown }): number | bigint | undefined {
  // With so few values, the default fill value is also an ordinary one, such as white in an image.
  if (type === "bool" || (type === "uint8" && fill === 255) || (type === "int8" && fill === -128)) return undefined;
  if (fill === "NaT") return -(2n ** 63n);
  return stored(fill as Value, type);
}

/**
 * The nodata values of an attribute in the metadata: `_FillValue` and `missing_value` (CF conventions) or `nodata`. The
 * keys apply to all attributes or, with the prefix that TileDB-CF and xarray write, to one.
 */
export function nodataOf(meta: Readonly<Record<string, Value>>, name: string, type: string): (number | bigint)[] {
  const keys = ["_FillValue", "missing_value", "nodata"].flatMap((key) => [key, `__tiledb_attr.${name}.${key}`]);
  const values = keys.flatMap((key): Value[] => {
    const value = meta[key];
    return ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<number>) : [value ?? null];
  });
  return values.map((value) => stored(value, type)).filter((v) => v !== undefined);
}

/** Converts a number, or text of one, to the value that cells of `type` store. */
function stored(value: Value, type: string): number | bigint | undefined {
  if (typeof value !== "number" && typeof value !== "bigint" && !(typeof value === "string" && value.trim() !== "")) return undefined;
  const number = Number(value);
  if (Number.isNaN(number)) return undefined;
  if (/^(u?int64$|datetime_|time_)/.test(type)) return /^-?\d+$/.test(String(value)) ? BigInt(value) : undefined;
  return type === "float32" ? Math.fround(number) : number;
}
