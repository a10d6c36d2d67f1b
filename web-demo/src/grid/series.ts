// Values in a row, for a chart and for a file.
import { exactNumber, line } from "../table/cells";
import { isNoData, isPacked, numberOf, valueText, type Meaning } from "./values";

/** Values in a row, at places that have names. */
export interface Series {
  readonly length: number;
  /** Unpacked; NaN for no data. */
  readonly values: Float64Array;
  /** The stored value of a place; `null` for null. */
  stored(i: number): number | bigint | null;
  /** The text of a place, such as "lat 15°". */
  label(i: number): string;
  /** The coordinates of a place in the array, one for each of `columns`. */
  coordinates(i: number): readonly (number | bigint)[];
  /** The names of the coordinates. */
  readonly columns: readonly string[];
  readonly meaning: Meaning;
  /** The name of the values. */
  readonly name: string;
}

/** Makes a series of stored values. */
export function seriesOf(stored: readonly (number | bigint | null)[], parts: Pick<Series, "label" | "coordinates" | "columns" | "meaning" | "name">): Series {
  return { ...parts, length: stored.length, values: Float64Array.from(stored, (value) => numberOf(value, parts.meaning)), stored: (i) => stored[i] ?? null };
}

/** The text of a value. */
export function textAt({ meaning, stored }: Series, i: number): string {
  const value = stored(i);
  return isNoData(value, meaning) ? "no data" : valueText(value as number | bigint, meaning);
}

/** The series as a CSV file: coordinates and unpacked values. Missing values are empty, and integers are exact. */
export function csvOf({ length, columns, name, coordinates, stored, values, meaning }: Series): string {
  const value = (i: number) => {
    const found = stored(i);
    if (isNoData(found, meaning)) return "";
    return isPacked(meaning) ? String(values[i]) : exactNumber(found as number | bigint, meaning.datatype);
  };
  const rows = Array.from({ length }, (_, i) => line([...coordinates(i).map(String), value(i)], ","));
  return [line([...columns, name || "value"], ","), ...rows].join("");
}
