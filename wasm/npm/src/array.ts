import { check, shown } from "./arguments.js";
import { RawStore } from "./core.js";
import { Bridge, readOnly } from "./bridge.js";
import { call, init, toHyperslabError } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { record } from "./exact.js";
import { HttpStore, type HttpOptions, type RequestEvent } from "./http.js";
import type { Engine, EngineArray } from "./messages.js";
import { planned, type PlannedTile, type PlanOptions, type ReadPlan } from "./plan.js";
import type { Ranges, Selection } from "./select.js";
import type { Store } from "./store.js";
import { Column, type DataType, type Fields, type RawColumn, type TypedArray, type Value } from "./values.js";

/** A time: milliseconds since 1970, or a `Date`. `Infinity` is the end of time. */
export type Timestamp = number | bigint | Date;

/** The options of every call that may take long. */
export interface CallOptions {
  /** Aborts the call, and its requests unless another call waits for them too. */
  signal?: AbortSignal | undefined;
}

/** The options of {@link open} and of the other functions that open arrays. */
export interface OpenOptions extends CallOptions {
  /** The path of the array in the store. */
  path?: string;
  /** Read the array as of this time, or only the writes between two times. Default: now. `[0, Infinity]` includes future timestamps. */
  at?: Timestamp | readonly [Timestamp, Timestamp];
  /** The array's encryption key, 32 bytes. */
  key?: Uint8Array;
  /**
   * The size of the cache of decoded tiles, in bytes. The arrays of a store share it, and the first call for the store
   * sets it. Default: 32 MiB. Workers of a pool share it out.
   */
  tileCacheBytes?: number;
  /** Called for every request, if the array is opened by URL. */
  onRequest?: (event: RequestEvent) => void;
  /** Workers that read the array: a `Pool` from `hyperslab/pool`. */
  pool?: Pooled;
  /** Options of the `HttpStore`, if the array is opened by URL. */
  http?: HttpOptions;
}

/** The names of the options of calls that open something. @internal */
export const OPENING: { readonly [Name in keyof Required<OpenOptions> | "kind"]: 1 } = { path: 1, at: 1, key: 1, tileCacheBytes: 1, onRequest: 1, pool: 1, http: 1, signal: 1, kind: 1 };

/** Runs the engine in workers. */
export interface Pooled {
  /** @internal */
  engine(store: Store, tileCacheBytes: number): Engine;
}

/** A coordinate of a dimension of the type `T`: bigint for 64-bit integers, dates and times. */
export type CoordinateOf<T extends DataType> = T extends "int64" | "uint64" | `datetime_${string}` | `time_${string}` ? bigint : number;

/** A dimension of the type `T`. */
export interface DimOf<T extends DataType> {
  /** The name of the dimension. */
  readonly name: string;
  /** The type of the coordinates. */
  readonly type: T;
  /** `"var"` for strings, else 1. */
  readonly cell: number | "var";
  /**
   * The lowest and the highest coordinate; absent for strings. If the array has a current domain, these are its ends.
   * It can grow to `schema.dimensions[…].domain`.
   */
  readonly domain?: readonly [CoordinateOf<T>, CoordinateOf<T>];
  /** The tile extent, in coordinates. */
  readonly tile?: number;
}

/** A dimension of an array. `type` says of which type the coordinates are. */
export type Dim = { [T in DataType]: DimOf<T> }[DataType];

/** An attribute of an array. */
export interface Attr {
  /** The name of the attribute. */
  readonly name: string;
  /** The type of the values. */
  readonly type: DataType;
  /** Values per cell. */
  readonly cell: number | "var";
  /** Whether cells may be null. */
  readonly nullable: boolean;
  /** The name of the enumeration, if the attribute's integers are indices into one. */
  readonly enumeration?: string;
}

/** A fragment: one write, or several after consolidation. */
export interface FragmentInfo {
  /** The name of its folder. */
  readonly name: string;
  /** The timestamp of its first write, in milliseconds since 1970. */
  readonly start: number;
  /** The timestamp of its last write, in milliseconds since 1970. */
  readonly end: number;
  /** Whether it has all cells of a box. */
  readonly dense: boolean;
  /** The number of its cells. */
  readonly cells: number;
  /** Bytes of its data files. */
  readonly bytes: number;
  /** The smallest box around its cells, by dimension. */
  readonly nonEmptyDomain: readonly (readonly [Extreme, Extreme])[] | null;
}

/** An end of a domain: bigint for 64-bit integers, dates and times, a string for text. */
export type Extreme = number | bigint | string;

/** A dimension or an attribute as it is stored. */
export interface StoredField {
  /** The name of the field. */
  readonly name: string;
  /** The type of the values or coordinates. */
  readonly type: DataType;
  readonly [entry: string]: unknown;
}

/** A schema as it is stored, with everything that `hyperslab schema` prints. */
export interface StoredSchema {
  /** The kind of the array. */
  readonly type: "dense" | "sparse";
  /** The dimensions, slowest first. */
  readonly dimensions: readonly StoredField[];
  /** The attributes. */
  readonly attributes: readonly StoredField[];
  readonly [entry: string]: unknown;
}

/**
 * A snapshot of an array. It shows the changes that are made with it, unless it is open as of a time. To see other
 * writes, use {@link TileArray.at} or `open`.
 */
export class TileArray<A extends object = Fields, D extends object = Fields> {
  /** @hidden The types of the attributes and of the dimensions, for the compiler alone. */
  declare readonly types?: { readonly attributes: A; readonly dimensions: D };
  /** Whether every cell of the domain has a value, or only those that were written. */
  readonly kind!: "dense" | "sparse";
  /** The dimensions, slowest first. */
  readonly dims!: readonly Dim[];
  /** The attributes: the values of a cell. */
  readonly attrs!: readonly Attr[];
  /** The number of cells along each dimension of a dense array, in its `domain`. Empty for sparse arrays. */
  readonly shape!: readonly number[];

  /** The engine's array. @internal */
  readonly raw!: EngineArray;

  /** The number of times that this was read again after a change, and the latest of them that it shows. */
  private readonly rereads = { begun: 0, shown: 0 };

  private constructor(
    raw: EngineArray,
    /** The store of the array's files. */
    readonly store: Store,
    /** The array's path in the store. */
    readonly path: string,
    /** @internal */
    readonly key: Uint8Array | undefined,
    /** @internal */
    readonly pool: Pooled | undefined,
    /** The time it is open as of. @internal */
    readonly time: OpenOptions["at"],
  ) {
    this.show(raw);
  }

  private show(raw: EngineArray): void {
    const dims = (JSON.parse(raw.dims()) as RawDim[]).map(dim);
    const attrs = (JSON.parse(raw.attrs()) as (Attr & { enumeration: string | null })[]).map(attr);
    const { type: kind } = JSON.parse(raw.schema()) as StoredSchema;
    const shape = kind === "dense" ? dims.map(({ domain }) => (domain ? Number(BigInt(domain[1]) - BigInt(domain[0])) + 1 : 0)) : [];
    Object.assign(this, { raw, kind, dims, attrs, shape });
  }

  /** Shows a change that was made at `time`, unless this is open as of a time. Returns the fragment called `name`. @internal */
  async changed(time: number, name?: string): Promise<FragmentInfo | undefined> {
    if (this.time !== undefined && name === undefined) return undefined;
    const mine = (this.rereads.begun += 1);
    try {
      const raw = await within(this.store, undefined, () => (this.time !== undefined ? this.raw.at(time, time) : this.raw.at(0, Math.max(time, Date.now()))));
      // Of reads that overlap, the one that began last has seen the changes of all.
      if (this.time === undefined && mine > this.rereads.shown) {
        this.rereads.shown = mine;
        this.show(raw);
      }
      return this.fragmentsOf(raw).find((fragment) => fragment.name === name);
    } catch (error) {
      const { code = "Io", message } = error as HyperslabError;
      const made = name === undefined ? "" : ` by the fragment ${name}`;
      throw new HyperslabError(code, `the array was changed${made}, so do not repeat the call, but reading it again failed: ${message}; open the array again`, { cause: error });
    }
  }

  /** @internal */
  static async open<A extends object>(store: Store, path: string, options: OpenOptions): Promise<TileArray<A>> {
    const [start, end] = timeRange(options.at);
    const { pool, signal } = options;
    const key = keyOf(options.key);
    const raw = await within(store, signal, async (aborted) => engineOf(store, pool, options.tileCacheBytes).open(path, start, end, key, aborted));
    return new TileArray<A>(raw, store, path, key, pool, options.at);
  }

  /**
   * Whether the array has these attributes with these types. If so, TypeScript knows the types of its cells:
   * `if (array.is({ elevation: "float32" }))`.
   */
  is<const G extends Fields>(attributes: G): this is TileArray<G, D> {
    check({ attributes });
    const own = new Map<string, DataType>(this.attrs.map(({ name, type }) => [name, type]));
    return Object.entries(attributes).every(([name, type]) => own.get(name) === type);
  }

  /** The schema as `hyperslab schema` prints it, without the values of enumerations. */
  get schema(): StoredSchema {
    return JSON.parse(this.raw.schema()) as StoredSchema;
  }

  /** The same array as of another time. */
  async at(at: Timestamp | readonly [Timestamp, Timestamp], options: CallOptions = {}): Promise<TileArray<A, D>> {
    check<CallOptions>({ options }, { signal: 1 });
    const [start, end] = timeRange(at);
    const raw = await within(this.store, options.signal, async (aborted) => this.raw.at(start, end, aborted));
    return new TileArray(raw, this.store, this.path, this.key, this.pool, at);
  }

  /** The visible fragments, oldest first. */
  fragments(): FragmentInfo[] {
    return this.fragmentsOf(this.raw);
  }

  private fragmentsOf(raw: EngineArray): FragmentInfo[] {
    const found = JSON.parse(raw.fragments()) as (FragmentInfo & { nonEmptyDomain: RawRange[] | null })[];
    return found.map((f) => ({ ...f, nonEmptyDomain: f.nonEmptyDomain && this.ranges(f.nonEmptyDomain) }));
  }

  /** The timestamps of writes and deletes in milliseconds since 1970, oldest first. */
  times(): number[] {
    return JSON.parse(this.raw.times()) as number[];
  }

  /** The non-empty domain: the smallest box around all written cells. `null` if the array is empty. */
  nonEmptyDomain(): (readonly [Extreme, Extreme])[] | null {
    const found = JSON.parse(this.raw.nonEmptyDomain()) as RawRange[] | null;
    return found && this.ranges(found);
  }

  /**
   * Plans a read of a selection: the byte ranges that it would request, and the number of tiles. Reads metadata of
   * fragments, but no tiles. Attributes of sparse tiles are requested only if the coordinates of some cell match.
   */
  async explain(selection?: Selection | Ranges, options: PlanOptions = {}): Promise<ReadPlan> {
    const { requests, tiles } = await planned(this as unknown as TileArray, selection, options);
    return { requests, bytes: requests.reduce((sum, { length }) => sum + length, 0), tiles: tiles.length };
  }

  /** The tiles with cells of a selection. The same box may have tiles of several fragments. */
  async tiles(selection?: Selection | Ranges, options: PlanOptions = {}): Promise<PlannedTile[]> {
    const { tiles } = await planned(this as unknown as TileArray, selection, options);
    return tiles.map((tile) => ({ ...tile, domain: this.ranges(tile.domain as unknown as RawRange[]) }));
  }

  /** The metadata, by key. */
  async meta(options: CallOptions = {}): Promise<Record<string, Value>> {
    check<CallOptions>({ options }, { signal: 1 });
    return metadataOf(await within(this.store, options.signal, async (aborted) => this.raw.metadata(aborted)));
  }

  /** The cells of a column whose integers are indices into an enumeration, as the values themselves. Indices without a value are `null`. */
  async decoded(column: Column): Promise<Value[]> {
    check({ column });
    const categories = await this.enumeration(column.name);
    return Array.from(column, (index) => (index === null || Number(index) < 0 || Number(index) >= categories.length ? null : categories.at(Number(index))));
  }

  /** The values of an enumeration, by the name of the enumeration or of an attribute. */
  async enumeration(name: string): Promise<Column> {
    check({ name });
    return new Column(await within(this.store, undefined, () => this.raw.enumeration(name)) as RawColumn);
  }

  private ranges(found: readonly RawRange[]): (readonly [Extreme, Extreme])[] {
    return found.map((pair, i) => {
      const type = this.dims[i]?.type ?? "int64";
      return [extreme(pair[0], type), extreme(pair[1], type)];
    });
  }
}

let otherSchemes: ((url: URL | string) => Store | undefined) | undefined;

/** Lets an entry point open URLs other than HTTP. @internal */
export function provideStores(stores: (url: URL | string) => Store | undefined): void {
  otherSchemes = stores;
}

export function storeOf(source: string | URL | Store, options: Pick<OpenOptions, "http" | "onRequest"> = {}): Store {
  if (typeof source !== "string" && !(source instanceof URL)) {
    if (typeof (source as Partial<Store> | undefined)?.get === "function") return source;
    throw new HyperslabError("InvalidArgument", `give a URL or a store, not ${shown(source)}`);
  }
  const store = otherSchemes?.(source);
  if (store) return store;
  const { onRequest } = options;
  return new HttpStore(source, { ...options.http, ...(onRequest ? { onRequest } : {}) });
}

/** The store to write to. Refuses a read-only one before anything is read. @internal */
export function writableStoreOf(place: string | URL | Store): Store {
  const store = storeOf(place);
  if (store.set) return store;
  throw store instanceof HttpStore ? readOnly(`${store.shownUrl}: HTTP servers are`) : readOnly();
}

const raws = new WeakMap<Store, RawStore>();

/** The default size of the cache of decoded tiles of a store, in bytes. */
const TILE_CACHE_BYTES = 32 * 2 ** 20;

/** The engine that reads a store, in this thread or in workers. @internal */
export function engineOf(store: Store, pool: Pooled | undefined, tileCacheBytes = TILE_CACHE_BYTES): Engine {
  if (!(Number.isFinite(tileCacheBytes) && tileCacheBytes >= 0)) throw new HyperslabError("InvalidArgument", `the option 'tileCacheBytes' must be a number of bytes, not ${String(tileCacheBytes)}`);
  return pool?.engine(store, tileCacheBytes) ?? rawStore(store, tileCacheBytes);
}

/** The URL of the store's root, which group members may start with; empty if unknown. @internal */
export function urlOf(store: Store): string {
  const { url, location } = store as { url?: string; location?: string };
  return url ?? location ?? "";
}

/** Whether the engine uses a `__manifest.json` of the store. @internal */
export function believesManifest(store: Store): boolean {
  const listing = store instanceof HttpStore ? store.listing : store.list ? "index" : "manifest";
  return listing === "auto" || listing === "manifest";
}

/** The engine's store. There is one per store, so its arrays share a cache. @internal */
export function rawStore(store: Store, tileCacheBytes = TILE_CACHE_BYTES): RawStore {
  let raw = raws.get(store);
  if (!raw) {
    raw = new RawStore(new Bridge(store) as never, urlOf(store), believesManifest(store), tileCacheBytes);
    raws.set(store, raw);
  }
  return raw;
}

/** Calls the engine. It does not know the name of the store's root, so errors about the root start with ": "; this adds the name. @internal */
export async function within<T>(store: Store, signal: AbortSignal | undefined, work: (aborted?: Promise<never>) => Promise<T>): Promise<T> {
  return call(signal, work).catch((error: unknown) => {
    if (!(error instanceof HyperslabError) || !error.message.startsWith(": ")) throw error;
    const { url, root } = store as { url?: string; root?: string | { name: string } };
    const isNamed = url !== undefined && error.message.includes(url);
    const place = url || (typeof root === "object" ? root.name : root) || "the store";
    throw new HyperslabError(error.code, isNamed ? error.message.slice(2) : place + error.message, { cause: error });
  });
}

/** An encryption key, checked: text or numbers would become another key. */
export function keyOf(key: Uint8Array | undefined): Uint8Array | undefined {
  if (key === undefined) return undefined;
  // Compares the tag, because `instanceof` fails for arrays of other frames.
  if (Object.prototype.toString.call(key) === "[object Uint8Array]" && key.length === 32) return new Uint8Array(key);
  throw new HyperslabError("InvalidArgument", "a key must be a Uint8Array of 32 bytes");
}

/** The first and the last millisecond. By default, this excludes future timestamps. */
export function timeRange(at: OpenOptions["at"]): [number, number] {
  if (at === undefined) return [0, Date.now()];
  const [start, end] = Array.isArray(at) ? [timestamp(at[0]), timestamp(at[1])] : [0, timestamp(at as Timestamp)];
  if (start <= end) return [start, end];
  throw new HyperslabError("InvalidArgument", `the time range ${start} to ${end} is empty; give the earlier time first`);
}

/** A time in milliseconds since 1970. */
export function timestamp(at: Timestamp): number {
  const ms = typeof at === "number" || typeof at === "bigint" || at instanceof Date ? Number(at) : NaN;
  if (ms === Infinity || (ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) return ms;
  throw new HyperslabError("InvalidArgument", `invalid time ${String(at)}; give a Date since 1970, or milliseconds up to 2^53 or Infinity`);
}

/** The same for the timestamp of a write, which must be finite. */
export function writeTimestamp(at: Timestamp): number {
  const ms = timestamp(at);
  if (ms < Infinity) return ms;
  throw new HyperslabError("InvalidArgument", `cannot write at the time ${String(at)}; give milliseconds since 1970 or a Date`);
}

/** Waits until the clock has reached the timestamp of a change, so that readers see it. */
export async function waitUntil(time: number): Promise<void> {
  const lead = time - Date.now();
  if (lead > 0) await new Promise((resolve) => setTimeout(resolve, lead));
}

type RawScalar = number | string | null | { int: string };
type RawRange = readonly [RawScalar, RawScalar];
interface RawDim { name: string; type: DataType; cell: number | "var"; domain: RawRange | null; tile: number | null }

function dim({ name, type, cell, domain, tile }: RawDim): Dim {
  const range = domain && ([extreme(domain[0], type), extreme(domain[1], type)] as unknown as [number | bigint, number | bigint]);
  return { name, type, cell, ...(range ? { domain: range } : {}), ...(tile === null ? {} : { tile }) } as Dim;
}

function attr({ enumeration, ...rest }: Attr & { enumeration: string | null }): Attr {
  return enumeration === null ? rest : { ...rest, enumeration };
}

/** Converts a coordinate; 64-bit integers, dates and times become bigint. */
function extreme(value: RawScalar, type: DataType): Extreme {
  if (value === null) return NaN;
  if (typeof value !== "object") return value;
  return /64$|^(datetime|time)_/.test(type) && !type.startsWith("float") ? BigInt(value.int) : Number(value.int);
}

/** The metadata that the engine returned, by key. @internal */
export function metadataOf(found: unknown): Record<string, Value> {
  const entries = found as { key: string; type: DataType; num: number; data: Uint8Array }[];
  return record(entries.map(({ key, type, num, data }) => [key, metaValue(key, type, num, data)]));
}

function metaValue(name: string, type: DataType, num: number, data: Uint8Array): Value {
  const isOne = num === 1 && !type.startsWith("string_") && type !== "char" && type !== "blob";
  const column = new Column({ name, type, cell: isOne ? 1 : Math.max(num, 1), data });
  return column.length > 0 ? column.at(0) : type.startsWith("string_") || type === "char" ? "" : (column.values as TypedArray);
}

/** The distance between the counters that two seeds start with. One seed names at most this many files. */
const NAMES = 4096;
let counter = Math.floor(Math.random() * 2 ** 30);

/** A random seed for a write. File names from later seeds sort later, so writes of the same millisecond keep their order. */
export function seed(): Uint8Array {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  counter = (counter + NAMES) % 2 ** 31;
  new DataView(bytes.buffer).setUint32(0, counter);
  return bytes;
}

export { HyperslabError, init, toHyperslabError };
