// Reads cells: of sparse arrays, or of dense arrays with their coordinates.
import { onAbort } from "./abort.js";
import { check } from "./arguments.js";
import type { TileArray, CallOptions } from "./array.js";
import { readerOf } from "./bridge.js";
import { call, init, toHyperslabError } from "./engine.js";
import { record } from "./exact.js";
import type { RawResult } from "./get.js";
import { joined } from "./join.js";
import type { EngineBatches } from "./messages.js";
import { rangesJson, type Ranges } from "./select.js";
import type { Priority } from "./store.js";
import { streamOf } from "./stream.js";
import { Column, type Fields, type RawColumn, type TypeOf } from "./values.js";

/** The options of {@link query}. */
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
  /** `"low"`: the read waits while other reads of the store run. Default: `"high"`. */
  priority?: Priority;
  /** The maximum number of cells. Default: all. Reading stops once it is reached. */
  limit?: number;
}

/** Cells: their number, and a column for each field. The columns are separate because a field may have any name. */
export interface Columns<F extends object = Fields> {
  /** The number of cells. */
  readonly length: number;
  /** The cells of each field, by name. */
  readonly columns: { readonly [Name in keyof F]: Column<TypeOf<F, Name>> };
}

/** A read of cells: all at once with `columns()`, or in batches with `for await`. */
export class Query<F extends object = Fields> implements AsyncIterable<Columns<F>> {
  /** @hidden Use {@link query}. */
  constructor(private readonly array: TileArray<F, object>, private readonly options: QueryOptions) {}

  /** Reads all cells. Fails with the code `LimitExceeded` if they do not fit in memory. */
  async columns(): Promise<Columns<F>> {
    const { limit } = this.options;
    if (this.array.kind === "dense" && limit === undefined) {
      // The size is known in advance, so a result that is too large fails before anything is read.
      const { order = "unordered", where, priority, signal } = this.options;
      const reader = readerOf(priority);
      return columns(await call(signal, (aborted) => this.array.raw.get(this.ranges(), this.fields(), order, where, reader, undefined, aborted)) as RawResult);
    }
    // The engine has at most 4 GiB of memory, and a batch takes several times its size.
    const found: RawResult[] = [];
    for await (const batch of this.batches(limit === undefined ? 2 ** 28 : 2 ** 20)) found.push(batch);
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

  /** Reads batches of about `batchBytes`, 16 MiB by default. The next batch is read while the loop runs. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Columns<F>> {
    for await (const batch of this.batches(16 * 2 ** 20)) yield columns(batch);
  }

  /**
   * Reads the cells as an Arrow IPC stream, batch by batch as the consumer asks for them:
   * `tableFromIPC(new Uint8Array(await new Response(query(array).arrow()).arrayBuffer()))` with apache-arrow or flechette.
   * Do not give the stream itself to apache-arrow: it takes a failed read for the end of the stream, and the table lacks
   * cells. Enumerations are dictionaries, dates are dates and timestamps, and not-a-time is null.
   */
  arrow(): ReadableStream<Uint8Array> {
    const cells = this.batches(2 ** 22);
    const bytes = (async function* (array: TileArray, names: string[] | undefined) {
      const { arrowStream } = await import("./arrow.js");
      yield* arrowStream(array, names, cells);
    })(this.array as unknown as TileArray, this.fields());
    return streamOf(async () => bytes.next(), async () => bytes.return());
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

  /** Reads batches, one ahead of the caller. The engine's query is freed however the loop ends. */
  private async *batches(bytes: number): AsyncGenerator<RawResult> {
    const { batchBytes = bytes, limit = Infinity, signal } = this.options;
    signal?.throwIfAborted();
    const batches = await this.start(batchBytes);
    const left = new AbortController();
    const stop = () => left.abort(signal?.reason);
    const end = signal && onAbort(signal, stop);
    if (signal?.aborted) stop();
    const ahead = () => {
      const next = call(left.signal, (aborted) => batches.next(aborted)) as Promise<RawResult | undefined>;
      // The loop may end before it is awaited.
      next.catch(() => {});
      return next;
    };
    let missing = limit;
    let next = missing > 0 ? ahead() : undefined;
    try {
      for (let batch = await next; batch; batch = await next) {
        missing -= batch.cells;
        next = missing > 0 ? ahead() : undefined;
        yield missing < 0 ? firstCells(batch, batch.cells + missing) : batch;
      }
    } finally {
      end?.();
      left.abort();
      // The engine may be at work on the next batch.
      await next?.catch(() => {});
      batches.free();
    }
  }

  private async start(batchBytes: number): Promise<EngineBatches> {
    await init();
    const { where, order = "unordered", priority } = this.options;
    try {
      return this.array.raw.query(this.ranges(), this.fields(), order, where, batchBytes, readerOf(priority));
    } catch (error) {
      throw toHyperslabError(error);
    }
  }
}

/**
 * Reads cells of a sparse array, or of a dense array with its coordinates. Nothing is read until you call `columns()` or
 * `count()`, or start a loop.
 *
 * @example
 * ```js
 * import { open, query } from "hyperslab";
 *
 * const quakes = await open("https://example.org/arrays/quakes");
 * const found = await query(quakes, { ranges: { lon: [-125, -114] }, where: "mag >= 3", attrs: ["mag", "place"] }).columns();
 * console.log(found.length, [...found.columns.place].sort());
 * ```
 *
 * ```text
 * 2 [ 'Anza, CA', 'Los Angeles, CA' ]
 * ```
 */
export function query<A extends object, D extends object, N extends keyof (A & D) & string = keyof (A & D) & string>(array: TileArray<A, D>, options: QueryOptions<N> = {}): Query<Chosen<A & D, N>> {
  check<QueryOptions>({ array, options }, { ranges: 1, where: 1, attrs: 1, order: 1, batchBytes: 1, priority: 1, limit: 1, signal: 1 });
  return new Query(array as unknown as TileArray<Chosen<A & D, N>, object>, options);
}

/** The fields `N` of `F`. All if `N` is any name, which `Pick` would turn into fields of unknown types. */
type Chosen<F, N extends keyof F> = string extends N ? F : Pick<F, N>;

function columns<F extends object>({ columns, cells }: RawResult): Columns<F> {
  return { length: cells, columns: record(columns.map((raw) => [raw.name, new Column(raw)])) as Columns<F>["columns"] };
}

/** The first `cells` cells of a batch. */
function firstCells({ columns, ...rest }: RawResult, cells: number): RawResult {
  const first = ({ data, offsets, validity, ...field }: RawColumn): RawColumn => ({
    ...field,
    data: data.subarray(0, offsets ? offsets[cells] : (data.length / rest.cells) * cells),
    ...(offsets ? { offsets: offsets.subarray(0, cells + 1) } : {}),
    ...(validity ? { validity: validity.subarray(0, cells) } : {}),
  });
  return { ...rest, columns: columns.map(first), cells };
}
