// Which stored values mean "no data".
import type { TileArray } from "../array.js";
import type { Cells } from "./planes.js";

/** The stored values that mean "no data", apart from null and NaN. */
export type Missing = ReadonlySet<number | bigint>;

/**
 * The values of the prop `missing` as an attribute stores them, or its fill value. With few bits, the default fill value is
 * also an ordinary one, such as white in an image, and counts as a value.
 */
export function missingOf(array: TileArray, attribute: string, given: readonly (number | bigint)[] | undefined): Missing {
  const field = array.schema.attributes.find(({ name }) => name === attribute);
  const type = field?.type ?? "float64";
  const isWide = /^(u?int64$|datetime_|time_)/.test(type);
  const stored = (value: unknown): (number | bigint)[] => {
    const text = String(value);
    if (isWide) return text === "NaT" ? [-(2n ** 63n)] : /^-?\d+$/.test(text) ? [BigInt(text)] : [];
    const number = typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && value.trim() !== "") ? Number(value) : NaN;
    return Number.isNaN(number) ? [] : [type === "float32" ? Math.fround(number) : number];
  };
  if (given) return new Set(given.flatMap(stored));
  const fill = field?.["fill"];
  const isOrdinary = type === "bool" || (type === "uint8" && fill === 255) || (type === "int8" && fill === -128);
  return new Set(isOrdinary ? [] : [fill].flat().flatMap(stored));
}

/** The stored value of a cell; `null` for null. */
export function storedAt({ data, validity, per, start, strideX, strideY }: Cells, column: number, row: number): number | bigint | null {
  const index = start + row * strideY + column * strideX;
  return validity?.[Math.floor(index / per)] === 0 ? null : data[index] ?? null;
}

/** Whether a stored value is no data. */
export function isMissing(value: number | bigint | null, missing: Missing): boolean {
  return value === null || value !== value || missing.has(value);
}
