// What a read of cells would request, for people.
import type { Ranges, Selection, TileArray } from "hyperslab";
import type { Span } from "./takeaway";
import * as text from "./text";

/** The most tiles that are planned. */
const TILES_MAX = 20_000;

/** What to read: a range of each of these dimensions, one attribute or all, and a condition. */
export interface Wanted { readonly ranges: readonly (Span & { readonly name: string })[]; readonly attribute?: string; readonly where?: string }

/** A sentence with the requests and bytes of a read, before it runs. `undefined` if there are too many tiles to plan. */
export async function planOf(array: TileArray, { ranges, attribute, where }: Wanted, signal: AbortSignal): Promise<string | undefined> {
  const tiles = ranges.reduce((count, { name, lo, hi }) => {
    const tile = array.dims.find((dim) => dim.name === name)?.tile;
    return array.kind === "dense" && tile ? count * (Math.floor((Number(hi) - Number(lo)) / tile) + 1) : count;
  }, 1);
  if (tiles > TILES_MAX) return undefined;
  const selection = Object.fromEntries(ranges.map(({ name, lo, hi }) => [name, [lo, hi]])) as Selection & Ranges;
  const plan = await array.explain(selection, { signal, ...(attribute === undefined ? {} : { attrs: attribute }), ...(where ? { where } : {}) });
  const count = (number: number, what: string) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  if (plan.tiles === 0) return "Nothing is stored for these cells.";
  if (plan.requests.length === 0) return `Reading these cells requests nothing: ${count(plan.tiles, "tile")} of them ${plan.tiles === 1 ? "is" : "are"} in the cache.`;
  return `Reading these cells takes ${count(plan.requests.length, "request")} for ${text.bytes(plan.bytes)}, from ${count(plan.tiles, "tile")}.`;
}
