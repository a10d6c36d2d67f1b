// Rows without a key of integers: text dimensions, several dimensions, duplicates. They are read in the array's order, as far
// as the user scrolls, and stay in memory.
import { query, type Column, type Columns, type TileArray, type Value } from "hyperslab";
import type { Field } from "./field";
import { joined } from "./joined";
import { bytesOf } from "./keyed";
import { orderOf } from "./order";
import type { Region, Rows, View } from "./rows";

/** The maximum size of the rows in memory. */
const BYTES_MAX = 256 * 2 ** 20;
const BATCH_BYTES = 2 ** 20;

/** `kept`: the cells that are rows, if not all are. */
interface Batch extends Columns { first: number; kept: Uint32Array | undefined }

export class HeldRows implements Rows {
  length: number;
  private readonly batches: Batch[] = [];
  private read = 0;
  private bytes = 0;
  /** The read that runs. Reads follow each other. */
  private turn: Promise<void> = Promise.resolve();
  private order: Uint32Array | undefined;

  private constructor(count: number, private readonly rest: AsyncIterator<Columns>, private readonly region: Region | undefined) {
    this.length = count;
  }

  static async open(array: TileArray, fields: readonly Field[], { where, sort, region }: View, signal: AbortSignal): Promise<HeldRows> {
    const filter = { signal, ...(where ? { where } : {}), ...(region ? { ranges: region.ranges } : {}) };
    const count = await query(array, filter).count();
    const attrs = fields.map(({ name }) => name);
    const cells = query(array, { ...filter, attrs, order: "global", batchBytes: BATCH_BYTES });
    const rows = new HeldRows(count, cells[Symbol.asyncIterator](), region);
    // Only a read says how many cells are kept.
    if (region) await rows.readTo(Infinity, signal);
    const field = fields.find(({ name }) => name === sort?.name);
    if (field && sort) await rows.sort(field, sort.descending);
    return rows;
  }

  cell(row: number, name: string): Value | undefined {
    const at = this.order ? (this.order[row] ?? 0) : row;
    const batch = this.batches[findLast(this.batches, at)];
    if (!batch || at >= this.read) return undefined;
    const cell = batch.kept ? (batch.kept[at - batch.first] ?? 0) : at - batch.first;
    return (batch.columns[name] as Column | undefined)?.at(cell);
  }

  async load(_first: number, end: number, _names: readonly string[], signal: AbortSignal): Promise<void> {
    if (this.order) return;
    this.turn = this.turn.catch(() => {}).then(async () => this.readTo(Math.min(end, this.length), signal));
    return this.turn;
  }

  runsOf(): undefined {
    return undefined;
  }

  private async readTo(end: number, signal: AbortSignal | undefined): Promise<void> {
    while (this.read < end) {
      signal?.throwIfAborted();
      if (this.bytes > BYTES_MAX) {
        this.length = this.read;
        throw new Error(`only the first ${this.read.toLocaleString("en")} rows fit in memory; enter a condition to see others`);
      }
      const { done, value } = await this.rest.next();
      if (done) {
        this.length = this.read;
        return;
      }
      const keep = this.region?.keep(value);
      const kept = keep && Uint32Array.from({ length: value.length }, (_, i) => i).filter(keep);
      this.batches.push({ ...value, first: this.read, kept });
      this.read += kept?.length ?? value.length;
      this.bytes += Object.values(value.columns).reduce((sum, column) => sum + bytesOf(column as Column), 0);
    }
  }

  /** Rows in place of the cells that were read. */
  private rowsOf(cells: Uint32Array): Uint32Array {
    if (!this.region) return cells;
    const rows = new Int32Array(cells.length).fill(-1);
    let before = 0;
    for (const { kept, first, length } of this.batches) {
      kept?.forEach((cell, i) => (rows[before + cell] = first + i));
      before += length;
    }
    return cells.filter((cell) => (rows[cell] ?? -1) >= 0).map((cell) => rows[cell] ?? 0);
  }

  private async sort(field: Field, descending: boolean): Promise<void> {
    await this.readTo(this.length, undefined).catch((error: unknown) => {
      if (this.bytes <= BYTES_MAX) throw error;
      throw new Error("the table is too large to sort: it is not indexed by one integer, so all columns must fit in memory; enter a condition that fewer rows meet");
    });
    const cells = joined(this.batches.map(({ columns }) => columns[field.name] as Column));
    this.order = this.rowsOf(orderOf(field, cells, descending));
  }
}

/** The index of the batch with a row. */
function findLast(batches: readonly Batch[], row: number): number {
  let [low, high] = [0, batches.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((batches[middle]?.first ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
