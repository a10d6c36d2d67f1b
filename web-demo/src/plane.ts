// A rectangle of one attribute's cells.

export interface Plane {
  /** The coordinates of its first cell. */
  row: number; col: number;
  rows: number; cols: number;
  /** What is stored, row by row. */
  data: ArrayLike<number | bigint>;
  /** 0 where a cell is null; absent if the attribute is not nullable. */
  validity: Uint8Array | undefined;
  /** What cells hold that nothing was written to. */
  fill: number | bigint | undefined;
}

/** A cell as the number to draw; NaN where there is no value. */
export function numberAt({ data, validity, fill }: Plane, i: number): number {
  const stored = data[i];
  return validity?.[i] === 0 || stored === fill ? NaN : Number(stored);
}

/** What the cells of an attribute without a value hold, from its entry in the schema. */
export function fillOf({ type, fill }: { type: string; fill?: unknown }): number | bigint | undefined {
  // Of so few values the fill is one that means something; `hyperslab overviews` counts it as a value too.
  if (/^(bool|u?int8)$/.test(type)) return undefined;
  if (fill === "NaT") return -(2n ** 63n);
  if (typeof fill !== "number" && !/^-?\d+$/.test(String(fill))) return undefined;
  if (/^(u?int64$|datetime_|time_)/.test(type)) return BigInt(fill as number | string);
  return type === "float32" ? Math.fround(Number(fill)) : Number(fill);
}
