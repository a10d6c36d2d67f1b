// Rows that are read by their key, in pages.
import { query, type Column, type TileArray, type Value } from "hyperslab";
import type { Keys } from "./keys";
import type { Rows } from "./rows";
import type { Range } from "./selection";

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

  keysOf(ranges: readonly Range[]): { name: string; keys: (number | bigint)[] } {
    return { name: this.key, keys: ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => this.keys.at(first + i))) };
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
  const runs: [bigint, bigint][] = [];
  for (const key of keys.map(BigInt).sort((a, b) => (a < b ? -1 : Number(a > b)))) {
    const run = runs.at(-1);
    if (run && key <= run[1] + 1n) run[1] = key;
    else runs.push([key, key]);
  }
  return runs;
}
