import type { TileArray, CallOptions } from "./array.js";
import { call, init, toHyperslabError } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { record } from "./exact.js";
import { rangesJson, selectionJson, type Ranges, type Selection } from "./select.js";
import { arrayOf, Column, type ArrayOf, type DataType, type Fields, type RawColumn, type TypedArray, type ValueOf } from "./values.js";
import type { EngineBatches } from "./messages.js";

/** The order of cells in a box: row-major (the first index varies slowest) or column-major. */
export type Order = "row" | "col";

/** @internal Checks an order of cells in a box. */
export function orderOf(order: Order = "row"): Order {
  if (order === "row" || order === "col") return order;
  throw new HyperslabError("InvalidArgument", `unknown order '${String(order)}'; use row or col`);
}

/** A box of cells of one field, as a strided view: `data[i * stride[0] + j * stride[1] + …]`. */
export interface Chunk<T extends DataType = DataType> {
  readonly type: T;
  readonly data: ArrayOf<T>;
  readonly shape: number[];
  readonly stride: number[];
  /** The order of the cells in `data`. */
  readonly order: Order;
  /** For variable-length cells: where each starts in `data`, and where the last one ends. */
  readonly offsets?: Uint32Array;
  /** For nullable attributes: 1 for a value, 0 for null. */
  readonly validity?: Uint8Array;
  /** The cell at these indices. Text is a string, null is `null`. */
  at(...index: number[]): ValueOf<T>;
}

export interface GetOptions extends CallOptions {
  /** The attributes or dimensions to read. One name gives a chunk, a list gives a record of chunks. Default: the only attribute. */
  attrs?: string | readonly string[];
  /** The order of the cells. Default: `"row"`. */
  order?: Order;
  /** A condition such as `"mag >= 4.5 and place != 'Alaska'"`. Cells that do not meet it get the fill value. */
  where?: string;
  /**
   * An array to read into, which becomes the chunk's `data`. Reuse it to avoid allocations. It must have the attribute's
   * type and one element per value of the box. Only for one attribute with fixed-length cells. If it does not fit, the
   * call fails without changing it.
   */
  out?: TypedArray;
}

interface RawResult { columns: RawColumn[]; cells: number; shape?: number[]; single?: boolean[] }

/**
 * Reads a box of a dense array. Dimensions with one selected coordinate are dropped. Without `attrs`, the array must
 * have one attribute, or the selection name one.
 */
export async function get<F extends Fields, N extends keyof F & string>(array: TileArray<F>, selection: Selection | undefined, options: GetOptions & { attrs: N }): Promise<Chunk<F[N]>>;
export async function get<F extends Fields, N extends keyof F & string>(array: TileArray<F>, selection: Selection | undefined, options: GetOptions & { attrs: readonly N[] }): Promise<{ [Name in N]: Chunk<F[Name]> }>;
export async function get<F extends Fields>(array: TileArray<F>, selection?: Selection, options?: GetOptions & { attrs?: undefined }): Promise<Chunk<F[keyof F]>>;
export async function get(array: TileArray, selection?: Selection, options: GetOptions = {}): Promise<Chunk | Record<string, Chunk>> {
  if (array.kind !== "dense") throw new HyperslabError("InvalidArgument", "the array is sparse; use query()");
  const { attrs, where, out, signal } = options;
  const order = orderOf(options.order);
  const named = attrs === undefined ? undefined : typeof attrs === "string" ? [attrs] : [...attrs];
  const json = selectionJson(selection, array.dims);
  const inText = typeof selection === "string" ? selection.split("@").slice(0, -1) : [];
  if (!named && inText.length === 0) refuseSeveral(array.attrs.map(({ name }) => name));
  if (out) fits(out, array, named ?? inText);
  const room = out && new Uint8Array(out.buffer as ArrayBuffer, out.byteOffset, out.byteLength);
  const result = await call(signal, (aborted) => array.raw.get(json, named, order, where, room, aborted)) as RawResult;
  const chunks = result.columns.map((raw) => [raw.name, chunk(raw, result, order, out)] as const);
  if (named && typeof attrs !== "string") return record(chunks);
  refuseSeveral(chunks.map(([name]) => name));
  const [first] = chunks;
  if (!first) throw new HyperslabError("InvalidArgument", "the selection names no attribute; name one in `attrs`");
  return first[1];
}

/** Refuses several attributes where the result is one chunk. */
function refuseSeveral(names: readonly string[]): void {
  if (names.length < 2) return;
  throw new HyperslabError("InvalidArgument", `the result would have ${names.length} attributes; name one in \`attrs\`, or several as a list: ${JSON.stringify(names)}`);
}

/** Checks that `out` has the type of the fields `names`; of every attribute if no field has such a name. */
function fits(out: TypedArray, { attrs, dims }: TileArray, names: readonly string[]): void {
  const named = [...attrs, ...dims].filter(({ name }) => names.includes(name));
  const other = (named.length > 0 ? named : attrs).find(({ type }) => !(out instanceof arrayOf(type)));
  if (!other) return;
  const Typed = arrayOf(other.type).name;
  throw new HyperslabError("InvalidArgument", `'out' must have the type ${other.type}: give a ${Typed}, not a ${out.constructor.name}, or name the attribute in 'attrs'`);
}

function chunk(raw: RawColumn, { shape = [], single = [] }: RawResult, order: Order, out?: TypedArray): Chunk {
  const column = new Column(raw);
  const { type } = column;
  const data = out ?? column.values;
  const cells = shape.filter((_, i) => !single[i]);
  const stride = strides(cells, order);
  const at = (...index: number[]) => {
    const outside = index.findIndex((i, axis) => axis < cells.length && !(i >= 0 && i < (cells[axis] ?? 0)));
    if (outside >= 0) throw new RangeError(`index ${index[outside]} is outside an axis of length ${cells[outside] ?? 0}`);
    return column.at(index.reduce((sum, i, axis) => sum + i * (stride[axis] ?? 0), 0));
  };
  const extra = { ...(column.offsets ? { offsets: column.offsets } : {}), ...(column.validity ? { validity: column.validity } : {}) };
  if (raw.cell <= 1) return { type, data, shape: cells, stride, order, at, ...extra };
  // Several values per cell are a last axis, which varies fastest.
  return { type, data, shape: [...cells, raw.cell], stride: [...stride.map((s) => s * raw.cell), 1], order, at, ...extra };
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

export interface QueryOptions<N extends string = string> extends CallOptions {
  /** Closed ranges by dimension. Default: the whole domain. */
  ranges?: Ranges;
  /** A condition such as `"mag >= 4.5 and place != 'Alaska'"`. Other cells are left out; in dense arrays they get the fill value. */
  where?: string;
  /** The attributes and dimensions to read. Default: all. */
  attrs?: N | readonly N[];
  /** The order of the cells. Default: `"unordered"`. */
  order?: "unordered" | "row" | "col" | "global";
  /** The approximate size of a batch in bytes. */
  batchBytes?: number;
}

/** Cells: their number, and a column for each field. The columns are separate because a field may have any name. */
export interface Columns<F extends Fields = Fields> {
  readonly length: number;
  readonly columns: { readonly [Name in keyof F]: Column<F[Name]> };
}

/** A read of cells: all at once with `columns()`, or in batches with `for await`. */
export class Query<F extends Fields = Fields> implements AsyncIterable<Columns<F>> {
  constructor(private readonly array: TileArray<F>, private readonly options: QueryOptions) {}

  /** Reads all cells. */
  async columns(): Promise<Columns<F>> {
    if (this.array.kind === "dense") {
      // The size is known in advance, so a result that is too large fails before anything is read.
      const { order = "unordered", where, signal } = this.options;
      return columns(await call(signal, (aborted) => this.array.raw.get(this.ranges(), this.fields(), order, where, undefined, aborted)) as RawResult);
    }
    // The engine has at most 4 GiB of memory, and a batch takes several times its size.
    const found: RawResult[] = [];
    for await (const batch of this.batches(2 ** 28)) found.push(batch);
    const [first, ...more] = found;
    if (!first) return columns(this.nothing());
    return columns(more.length === 0 ? first : joined(first, found));
  }

  /** A result without cells. */
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

  async *[Symbol.asyncIterator](): AsyncGenerator<Columns<F>> {
    for await (const batch of this.batches(16 * 2 ** 20)) yield columns(batch);
  }

  /** Counts the cells. */
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

  /** Reads batches. The engine's query is freed however the loop ends. */
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
      throw toHyperslabError(error);
    }
  }

  private async next(batches: EngineBatches): Promise<RawResult | undefined> {
    return call(this.options.signal, (aborted) => batches.next(aborted)) as Promise<RawResult | undefined>;
  }
}

/** Reads cells of a sparse array, or of a dense array with its coordinates. */
export function query<F extends Fields, N extends keyof F & string = keyof F & string>(array: TileArray<F>, options: QueryOptions<N> = {}): Query<Pick<F, N>> {
  return new Query(array as unknown as TileArray<Pick<F, N>>, options);
}

function columns<F extends Fields>({ columns, cells }: RawResult): Columns<F> {
  return { length: cells, columns: record(columns.map((raw) => [raw.name, new Column(raw)])) as Columns<F>["columns"] };
}

/** Concatenates batches. */
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
  const whole = allocate(parts.reduce((sum, p) => sum + p.length, 0), Typed);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Allocates an array, if there is memory for it. Its length is limited by the 32-bit offsets. */
function allocate<T>(length: number, Typed: new (length: number) => T): T {
  try {
    if (length < 2 ** 32) return new Typed(length);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new HyperslabError("LimitExceeded", `a column of ${length} bytes does not fit in memory; read batches with for await`);
}
