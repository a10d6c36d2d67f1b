// Which stored values mean "no data".
import type { TileArray } from "../array.js";
import type { Cells } from "./planes.js";

/** Which stored values mean "no data", apart from null and NaN. */
export interface Missing {
  /** These values. */
  readonly values: ReadonlySet<number | bigint>;
  /** All outside these ends. */
  readonly valid: readonly [number | bigint, number | bigint] | undefined;
}

/** No value at all. */
export const NONE: Missing = { values: new Set(), valid: undefined };

/** Whether every stored value counts, apart from null and NaN. */
export function isEmpty({ values, valid }: Missing): boolean {
  return values.size === 0 && valid === undefined;
}

/**
 * The values of the prop `missing` as an attribute stores them, or its fill value. With few bits, the default fill value is
 * also an ordinary one, such as white in an image, and counts as a value.
 */
export function missingOf(array: TileArray, attribute: string, given: readonly (number | bigint)[] | undefined, valid?: Missing["valid"]): Missing {
  const field = array.schema.attributes.find(({ name }) => name === attribute);
  const type = field?.type ?? "float64";
  const isWide = /^(u?int64$|datetime_|time_)/.test(type);
  const stored = (value: unknown): (number | bigint)[] => {
    const text = String(value);
    if (isWide) return text === "NaT" ? [-(2n ** 63n)] : /^-?\d+$/.test(text) ? [BigInt(text)] : [];
    const number = typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && value.trim() !== "") ? Number(value) : NaN;
    return Number.isNaN(number) ? [] : [type === "float32" ? Math.fround(number) : number];
  };
  if (given) return { values: new Set(given.flatMap(stored)), valid };
  const fill = field?.["fill"];
  const isOrdinary = type === "bool" || (type === "uint8" && fill === 255) || (type === "int8" && fill === -128);
  return { values: new Set(isOrdinary ? [] : [fill].flat().flatMap(stored)), valid };
}

/** The stored value of a cell; `null` for null. */
export function storedAt({ data, validity, per, start, strideX, strideY }: Cells, column: number, row: number): number | bigint | null {
  const index = start + row * strideY + column * strideX;
  return validity?.[Math.floor(index / per)] === 0 ? null : data[index] ?? null;
}

/** Whether a stored value is no data. */
export function isMissing(value: number | bigint | null, { values, valid }: Missing): boolean {
  return value === null || value !== value || values.has(value) || (valid !== undefined && (value < valid[0] || value > valid[1]));
}
