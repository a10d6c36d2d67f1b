import type { TileArray, CallOptions } from "./array.js";
import { call, init, own } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { record } from "./exact.js";
import { rangesJson, selectionJson, type Ranges, type Selection } from "./select.js";
import { arrayOf, Column, type RawColumn, type TypedArray, type Value } from "./values.js";
import type { EngineBatches } from "./messages.js";

/** Which index varies slowest in the cells of a box: of `"row"` the first, of `"col"` the last. */
export type Order = "row" | "col";

/** @internal The order, if it is one that a box can have. */
export function orderOf(order: Order = "row"): Order {
  if (order === "row" || order === "col") return order;
  throw new HyperslabError("InvalidArgument", `a box has no order '${String(order)}'; row and col are`);
}

/** A box of cells of one attribute, as a strided view: `data[i * stride[0] + j * stride[1] + …]`. */
export interface Chunk<Data extends TypedArray = TypedArray> {
  readonly data: Data;
  readonly shape: number[];
  readonly stride: number[];
  /** The order of the cells in `data`. */
  readonly order: Order;
  /** For cells of any length: where each starts in `data`, and where the last one ends. */
  readonly offsets?: Uint32Array;
  /** For nullable attributes: 1 where there is a value, 0 where there is none. */
  readonly validity?: Uint8Array;
  /** The cell at these indices: text as a string, null as `null`. */
  at(...index: number[]): Value;
}

export interface GetOptions extends CallOptions {
  /** Attributes (or dimensions, for coordinates). One name gives one chunk, a list gives a record. */
  attrs?: string | readonly string[];
  /** The order of the cells; `"row"` unless given. */
  order?: Order;
  /** A condition such as `"mag >= 4.5 and place != 'Alaska'"`; other cells hold the fill value. */
  where?: string;
  /**
   * Takes the cells, in place of a new array, and is the chunk's `data`: spares who reads frame after frame the
   * memory. Of the attribute's type, and as long as the box has values; for one attribute of fixed-size cells.
   * What does not fit is refused before anything is written into it.
   */
  out?: TypedArray;
}

interface RawResult { columns: RawColumn[]; cells: number; shape?: number[]; single?: boolean[] }

/**
 * Reads a box of a dense array. Dimensions of which one coordinate is selected are dropped.
 * Without `attrs` an array of one attribute gives a chunk, one of several a record of them.
 */
export async function get(array: TileArray, selection: Selection | undefined, options: GetOptions & { attrs: string }): Promise<Chunk>;
export async function get(array: TileArray, selection: Selection | undefined, options: GetOptions & { attrs: readonly string[] }): Promise<Record<string, Chunk>>;
export async function get(array: TileArray, selection?: Selection, options?: GetOptions): Promise<Chunk | Record<string, Chunk>>;
export async function get(array: TileArray, selection?: Selection, options: GetOptions = {}): Promise<Chunk | Record<string, Chunk>> {
  if (array.kind !== "dense") throw new HyperslabError("InvalidArgument", "the array is sparse: use query()");
  const { attrs, where, out, signal } = options;
  const order = orderOf(options.order);
  const named = attrs === undefined ? undefined : typeof attrs === "string" ? [attrs] : [...attrs];
  const json = selectionJson(selection, array.dims);
  if (out) fits(out, array, named ?? (typeof selection === "string" ? selection.split("@").slice(0, -1) : []));
  const room = out && new Uint8Array(out.buffer as ArrayBuffer, out.byteOffset, out.byteLength);
  const result = await call(signal, (aborted) => array.raw.get(json, named, order, where, room, aborted)) as RawResult;
  const chunks = result.columns.map((raw) => [raw.name, chunk(raw, result, order, out)] as const);
  const one = typeof attrs === "string" || (attrs === undefined && array.attrs.length === 1 && chunks.length === 1);
  return one && chunks[0] ? chunks[0][1] : record(chunks);
}

/** Refuses an array of another type than the fields `names` have; where these are no fields' names, than any attribute. */
function fits(out: TypedArray, { attrs, dims }: TileArray, names: readonly string[]): void {
  const named = [...attrs, ...dims].filter(({ name }) => names.includes(name));
  const other = (named.length > 0 ? named : attrs).find(({ type }) => !(out instanceof arrayOf(type)));
  if (!other) return;
  const Typed = arrayOf(other.type).name;
  throw new HyperslabError("InvalidArgument", `'out' is to be of type ${other.type}: give a ${Typed}, not a ${out.constructor.name}, or name the attribute in 'attrs'`);
}

function chunk(raw: RawColumn, { shape = [], single = [] }: RawResult, order: Order, out?: TypedArray): Chunk {
  const column = new Column(raw);
  const data = out ?? column.values;
  const cells = shape.filter((_, i) => !single[i]);
  const stride = strides(cells, order);
  const at = (...index: number[]) => {
    const outside = index.findIndex((i, axis) => axis < cells.length && !(i >= 0 && i < (cells[axis] ?? 0)));
    if (outside >= 0) throw new RangeError(`index ${index[outside]} along an axis of ${cells[outside] ?? 0}`);
    return column.at(index.reduce((sum, i, axis) => sum + i * (stride[axis] ?? 0), 0));
  };
  const extra = { ...(column.offsets ? { offsets: column.offsets } : {}), ...(column.validity ? { validity: column.validity } : {}) };
  if (raw.cell <= 1) return { data, shape: cells, stride, order, at, ...extra };
  // Several values a cell: one more axis, the fastest.
  return { data, shape: [...cells, raw.cell], stride: [...stride.map((s) => s * raw.cell), 1], order, at, ...extra };
}

function strides(shape: number[], order: Order): number[] {
  const stride = new Array<number>(shape.length);
  let step = 1;
  const axes = shape.map((_, i) => i);
  for (const axis of order === "row" ? axes.reverse() : axes) {
    stride[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return stride;
}

export interface QueryOptions extends CallOptions {
  /** Closed ranges by dimension; the others are taken whole. */
  ranges?: Ranges;
  /** A condition such as `"mag >= 4.5 and place != 'Alaska'"`. Other cells are left out; those of a dense array hold the fill value. */
  where?: string;
  /** Fields; without it every dimension and attribute. */
  attrs?: string | readonly string[];
  /** The order of the cells. */
  order?: "unordered" | "row" | "col" | "global";
  /** About how many bytes a batch may hold. */
  batchBytes?: number;
}

/** Cells: how many, and a column for each field. Fields may have any name, so the count is not among them. */
export interface Columns {
  readonly length: number;
  readonly columns: { readonly [field: string]: Column };
}

/** A read of cells: all at once by `columns()`, or batch by batch by `for await`. */
export class Query implements AsyncIterable<Columns> {
  constructor(private readonly array: TileArray, private readonly options: QueryOptions) {}

  /** Every cell. */
  async columns(): Promise<Columns> {
    if (this.array.kind === "dense") {
      // How much comes is known beforehand: what does not fit is refused before anything is read.
      const { order = "unordered", where, signal } = this.options;
      return columns(await call(signal, (aborted) => this.array.raw.get(this.ranges(), this.fields(), order, where, undefined, aborted)) as RawResult);
    }
    // The engine's memory has 4 GiB at most, of which a batch takes several times its size.
    const found: RawResult[] = [];
    for await (const batch of this.batches(2 ** 28)) found.push(batch);
    const [first, ...more] = found;
    if (!first) return columns(this.nothing());
    return columns(more.length === 0 ? first : joined(first, found));
  }

  /** The columns of no cells. */
  private nothing(): RawResult {
    const { dims, attrs } = this.array;
    const asked = this.fields();
    const fields = [...dims.map((d) => ({ ...d, nullable: false })), ...attrs];
    const empty = ({ name, type, cell, nullable }: (typeof fields)[number]): RawColumn => ({
      name, type, cell: cell === "var" ? 0 : cell, data: new Uint8Array(),
      ...(cell === "var" ? { offsets: new Uint32Array(1) } : {}),
      ...(nullable ? { validity: new Uint8Array() } : {}),
    });
    const named = asked ? asked.flatMap((name) => fields.find((f) => f.name === name) ?? []) : fields;
    return { columns: named.map(empty), cells: 0 };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Columns> {
    for await (const batch of this.batches(16 * 2 ** 20)) yield columns(batch);
  }

  /** How many cells there are. */
  async count(): Promise<number> {
    const { where, signal } = this.options;
    return call(signal, (aborted) => this.array.raw.count(this.ranges(), where, aborted));
  }

  private ranges(): string {
    return rangesJson(this.options.ranges, this.array.dims);
  }

  private fields(): string[] | undefined {
    const { attrs } = this.options;
    return attrs === undefined ? undefined : [attrs].flat();
  }

  /** One batch after another; the engine's side is freed whatever ends it. */
  private async *batches(bytes: number): AsyncGenerator<RawResult> {
    const batches = await this.start(this.options.batchBytes ?? bytes);
    try {
      for (let next = await this.next(batches); next; next = await this.next(batches)) yield next;
    } finally {
      batches.free();
    }
  }

  private async start(batchBytes: number): Promise<EngineBatches> {
    await init();
    const { where, order = "unordered" } = this.options;
    try {
      return this.array.raw.query(this.ranges(), this.fields(), order, where, batchBytes);
    } catch (error) {
      throw own(error);
    }
  }

  private async next(batches: EngineBatches): Promise<RawResult | undefined> {
    return call(this.options.signal, (aborted) => batches.next(aborted)) as Promise<RawResult | undefined>;
  }
}

/** Reads cells: of sparse arrays, or of dense ones with `attrs` naming the dimensions too. */
export function query(array: TileArray, options: QueryOptions = {}): Query {
  return new Query(array, options);
}

function columns({ columns, cells }: RawResult): Columns {
  return { length: cells, columns: record(columns.map((raw) => [raw.name, new Column(raw)])) };
}

/** Batches one after another. */
function joined(first: RawResult, batches: readonly RawResult[]): RawResult {
  const join = (raw: RawColumn, i: number): RawColumn => {
    const parts = batches.map((b) => b.columns[i] ?? raw);
    const { data, validity, offsets, ...rest } = raw;
    let base = 0;
    const starts = parts.map((p) => (base += p.data.length) - p.data.length);
    const shifted = parts.map((p, k) => p.offsets?.subarray(k === 0 ? 0 : 1).map((o) => o + (starts[k] ?? 0)) ?? new Uint32Array());
    return {
      ...rest,
      data: concat(parts.map((p) => p.data), Uint8Array),
      ...(offsets ? { offsets: concat(shifted, Uint32Array) } : {}),
      ...(validity ? { validity: concat(parts.map((p) => p.validity ?? new Uint8Array()), Uint8Array) } : {}),
    };
  };
  return { columns: first.columns.map(join), cells: batches.reduce((sum, b) => sum + b.cells, 0) };
}

function concat<T extends Uint8Array | Uint32Array>(parts: T[], Typed: new (length: number) => T): T {
  const whole = room(parts.reduce((sum, p) => sum + p.length, 0), Typed);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** An array of so many numbers, where there is memory for it. Starts of cells have 32 bits. */
function room<T>(length: number, Typed: new (length: number) => T): T {
  try {
    if (length < 2 ** 32) return new Typed(length);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new HyperslabError("LimitExceeded", `a column of ${length} bytes does not fit into memory; read it batch by batch, with for await`);
}
