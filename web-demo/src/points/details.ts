// All fields of one point. Those that are not drawn are only read for the point under the pointer.
import { query, type TileArray, type Value } from "hyperslab";

/** The fields of a point as they are stored, by name. */
export type Point = Readonly<Record<string, Value>>;

/** The most cells at the same place that are searched for a point. */
const SAME_PLACE_MAX = 1000;

/** Reads fields of a point that was drawn. `undefined` if it is not found. `known` has fields that must be the same. */
export async function readPoint(array: TileArray, names: readonly string[], place: Point, known: Point, signal: AbortSignal): Promise<Point | undefined> {
  const ranges = Object.fromEntries(Object.entries(place).map(([name, at]) => [name, [at, at] as [number | bigint, number | bigint]]));
  const attrs = [...new Set([...names, ...Object.keys(known)])];
  const { columns, length } = await query(array, { ranges, attrs, limit: SAME_PLACE_MAX, signal }).columns();
  const at = (name: string, i: number) => columns[name]?.at(i) as Value;
  const isSame = (i: number) => Object.entries(known).every(([name, value]) => Object.is(at(name, i), value));
  const found = Array.from({ length }, (_, i) => i).find(isSame);
  return found === undefined ? undefined : Object.fromEntries(names.map((name) => [name, at(name, found)]));
}
