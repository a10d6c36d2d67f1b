// Names of states, to tell whether something has changed.
import type { TileArray } from "../array.js";

const identities = new WeakMap<TileArray, number>();
let last = 0;

/** A number for a snapshot of an array. */
export function identityOf(array: TileArray): number {
  if (!identities.has(array)) identities.set(array, (last += 1));
  return identities.get(array) as number;
}

/** A value as JSON, with bigints as text. */
export function json(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${item}n` : item));
}
