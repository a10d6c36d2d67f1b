// Rows that are read by their key, in pages.
import { query, type Column, type TileArray, type Value } from "hyperslab";
import type { Keys } from "./keys";
import type { Rows } from "./rows";
import { countOf, type Range } from "./selection";

/** The number of rows of a page. */
export const PAGE = 256;
/** The maximum size of the pages in memory. */
const BYTES_MAX = 64 * 2 ** 20;

/** A page: for each field that was read, its cells, and the place in it of each row. */
type Page = Map<string, { column: Column; places: Uint32Array }>;

export class KeyedRows implements Rows {
  readonly length: number;
  /** Pages in the order of their last use. */
  private readonly pages = new Map<number, Page>();
  private bytes = 0;

  constructor(private readonly array: TileArray, private readonly key: string, private readonly keys: Keys) {
    this.length = keys.length;
  }

  cell(row: number, name: string): Value | undefined {
    if (name === this.key) return this.keys.at(row);
    const found = this.pages.get(Math.floor(row / PAGE))?.get(name);
    const place = found?.places[row % PAGE];
    return place === undefined ? undefined : found?.column.at(place);
  }

  async load(first: number, end: number, names: readonly string[], signal: AbortSignal): Promise<void> {
    const last = Math.min(end, this.length) - 1;
    const pages = Array.from({ length: Math.max(0, Math.floor(last / PAGE) - Math.floor(first / PAGE) + 1) }, (_, i) => Math.floor(first / PAGE) + i);
    await Promise.all(pages.map(async (page) => this.loadPage(page, names, signal)));
  }

  runsOf(ranges: readonly Range[], most: number): { name: string; runs: [bigint, bigint][] } {
    const { keys } = this;
    const runs = keys.isConsecutive ? ranges.map(([first, last]): [bigint, bigint] => [BigInt(keys.at(first)), BigInt(keys.at(last))]) : collected(keys, ranges, most);
    if (runs.length > most) throw new Error(`the rows are in more than ${most.toLocaleString("en")} places, too many for Arrow; save them as CSV`);
    return { name: this.key, runs };
  }

  private async loadPage(index: number, names: readonly string[], signal: AbortSignal): Promise<void> {
    const missing = names.filter((name) => name !== this.key && !this.pages.get(index)?.has(name));
    this.use(index);
    if (missing.length === 0) return;
    const keys = Array.from({ length: Math.min(PAGE, this.length - index * PAGE) }, (_, i) => this.keys.at(index * PAGE + i));
    const { columns } = await query(this.array, { ranges: { [this.key]: runsOf(keys) }, attrs: [this.key, ...missing], signal }).columns();
    const found = columns[this.key];
    const at = new Map(Array.from((found?.values ?? []) as ArrayLike<number | bigint>, (key, i) => [BigInt(key), i]));
    const places = Uint32Array.from(keys, (key) => placeOf(at, key));
    const page = this.use(index);
    for (const name of missing) {
      const column = columns[name];
      if (column && !page.has(name)) {
        page.set(name, { column, places });
        this.bytes += bytesOf(column);
      }
    }
    this.drop(index);
  }

  /** The page, which becomes the last used. */
  private use(index: number): Page {
    const page = this.pages.get(index) ?? new Map<string, { column: Column; places: Uint32Array }>();
    this.pages.delete(index);
    this.pages.set(index, page);
    return page;
  }

  /** Drops the pages that were not used for longest, except `kept`. */
  private drop(kept: number): void {
    for (const [index, page] of this.pages) {
      if (this.bytes <= BYTES_MAX) return;
      if (index === kept) continue;
      for (const { column } of page.values()) this.bytes -= bytesOf(column);
      this.pages.delete(index);
    }
  }
}

/** Where the row of a key is among the cells that were read. */
function placeOf(at: ReadonlyMap<bigint, number>, key: number | bigint): number {
  const place = at.get(BigInt(key));
  if (place === undefined) throw new Error(`the row ${key} is no longer there; open the table again`);
  return place;
}

/** The size of a column in memory. */
export function bytesOf({ values, offsets, validity }: Column): number {
  return values.byteLength + (offsets?.byteLength ?? 0) + (validity?.byteLength ?? 0);
}

/** The closed ranges of consecutive keys. */
export function runsOf(keys: readonly (number | bigint)[]): [bigint, bigint][] {
  return runsOfSorted(keys.map(BigInt).sort((a, b) => (a < b ? -1 : Number(a > b))), Infinity);
}

/** The same for the keys of rows. They are in memory as eight bytes each. */
function collected(keys: Keys, ranges: readonly Range[], most: number): [bigint, bigint][] {
  const count = countOf({ ranges, anchor: 0 });
  const sorted = typeof keys.at(0) !== "bigint" ? new Float64Array(count) : keys.isUnsigned ? new BigUint64Array(count) : new BigInt64Array(count);
  let i = 0;
  for (const [first, last] of ranges) for (let row = first; row <= last; row += 1) sorted[i++] = keys.at(row);
  return runsOfSorted(sorted.sort(), most);
}

/** The runs of ascending keys. Stops when there are more than `most`. */
export function runsOfSorted(sorted: Iterable<number | bigint>, most: number): [bigint, bigint][] {
  const runs: [bigint, bigint][] = [];
  let [first, last]: [bigint | undefined, bigint] = [undefined, 0n];
  for (const next of sorted) {
    const key = BigInt(next);
    if (first !== undefined && key <= last + 1n) last = key;
    else {
      if (first !== undefined && runs.push([first, last]) > most) return runs;
      [first, last] = [key, key];
    }
  }
  if (first !== undefined) runs.push([first, last]);
  return runs;
}
