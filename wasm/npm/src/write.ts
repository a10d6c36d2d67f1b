import { check } from "./arguments.js";
import { keyOf, rawStore, seed, within, writableStoreOf, writeTimestamp, type CallOptions, type FragmentInfo, type StoredSchema, type Timestamp, TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { refuseRoundedIn } from "./exact.js";
import { selectionJson, type Selection } from "./select.js";
import type { Store } from "./store.js";
import { change, inTurn } from "./turns.js";
import { encode, type ColumnInput, type DataType, type RawInput } from "./values.js";
import { orderOf, type Chunk, type Order } from "./get.js";

/** A filter: its name, its name with options, or both in one object. */
export type FilterInput = string | readonly [string, Record<string, unknown>] | {
  /** The name of the filter, such as `"zstd"`. */
  name: string;
  [option: string]: unknown;
};

/** A dimension of a new array. */
export interface DimInput {
  /** The name of the dimension. */
  name: string;
  /** The type of the coordinates. */
  type: DataType;
  /** The first and the last coordinate. Dates may be a `Date` or ISO 8601 text. Dimensions of strings have none. */
  domain?: readonly [unknown, unknown];
  /** The number of coordinates in a tile. */
  tile?: number | bigint;
  /** The filters of the coordinates of sparse arrays, in the order in which writes apply them. */
  filters?: readonly FilterInput[];
}

/** An attribute of a new array. */
export interface AttrInput {
  /** The name of the attribute. */
  name: string;
  /** The type of the values. */
  type: DataType;
  /** Values per cell. Default: 1. `"var"` is any number, as for text. */
  cell?: number | "var";
  /** Whether cells may be null. Default: false. */
  nullable?: boolean;
  /** The value of unwritten cells in dense arrays. Default: the lowest integer, the highest unsigned integer, or NaN. */
  fill?: unknown;
  /** The name of an enumeration, if the values are indices into one. */
  enumeration?: string;
  /** The filters, such as `"zstd"` or `["zstd", { level: 5 }]`, in the order in which writes apply them. Default: none. */
  filters?: readonly FilterInput[];
}

/** The schema of a new array. Other entries that `hyperslab schema` prints are accepted too. */
export interface SchemaInput {
  /** Whether every cell of the domain has a value, or only those that were written. */
  type: "dense" | "sparse";
  /** The dimensions, slowest first. In dense arrays, all have the same type: an integer, a date or a time. */
  dims: readonly DimInput[];
  /** The attributes: the values of a cell. */
  attrs: readonly AttrInput[];
  /** Whether several cells of a sparse array may have the same coordinates. */
  allowsDups?: boolean;
  [entry: string]: unknown;
}

/** The options of {@link create}. */
export interface CreateOptions {
  /** The path of the array in the store. */
  path?: string;
  /** The time of creation. Default: now. */
  at?: Timestamp;
  /** The array's encryption key, 32 bytes. */
  key?: Uint8Array;
}

/** The types of fields, from their list in a schema. */
export type TypesOf<L extends SchemaInput["attrs"] | SchemaInput["dims"]> = { readonly [Field in L[number] as Field["name"]]: Field["type"] };

/**
 * Creates an array in a writable store (in Node, also at a path), and opens it. `schema` may be the `schema` of another array.
 *
 * Fails with the code `AlreadyExists` if there is an array or a group (of several calls at a time, one succeeds), with `InvalidArgument` if the schema is not valid, and with
 * `Unsupported` if the store is read-only, as HTTP servers are.
 *
 * @example
 * ```js
 * import { create, MemoryStore, put } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "dense",
 *   dims: [{ name: "day", type: "int32", domain: [1, 365], tile: 30 }],
 *   attrs: [{ name: "rain", type: "float32", filters: ["byteshuffle", ["zstd", { level: 5 }]] }],
 * });
 * await put(array, [[1, 30]], new Float32Array(30));
 * ```
 */
export async function create<const S extends SchemaInput>(place: string | URL | Store, schema: S, options?: CreateOptions): Promise<TileArray<TypesOf<S["attrs"]>, TypesOf<S["dims"]>>>;
export async function create(place: string | URL | Store, schema: StoredSchema, options?: CreateOptions): Promise<TileArray>;
export async function create(place: string | URL | Store, schema: SchemaInput | StoredSchema, options: CreateOptions = {}): Promise<TileArray> {
  check<CreateOptions>({ schema, options }, { path: 1, at: 1, key: 1 });
  const { path = "", at = Date.now() } = options;
  const key = keyOf(options.key);
  const store = writableStoreOf(place);
  refuseRoundedIn(schema, "schema");
  const json = schemaText("dimensions" in schema ? schema : plainSchema(schema as SchemaInput));
  const time = writeTimestamp(at);
  await within(store, undefined, () => inTurn(store, () => rawStore(store).create(path, json, time, seed(), key)));
  return TileArray.open(store, path, key ? { key } : {});
}

/** A schema as JSON. @internal */
export function schemaText(schema: object): string {
  return JSON.stringify(schema, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

/** A schema as the engine takes it. @internal */
export function plainSchema({ dims, attrs, allowsDups, ...rest }: SchemaInput): { attributes: object[]; [entry: string]: unknown } {
  const isField = (field: unknown) => typeof field === "object" && field !== null && Array.isArray((field as { filters?: unknown }).filters ?? []);
  if (![dims, attrs].every((fields) => Array.isArray(fields) && fields.every(isField))) {
    throw new HyperslabError("InvalidArgument", "a schema needs the lists `dims` and `attrs`, such as [{ name: \"x\", type: \"int32\", filters: [\"zstd\"] }]");
  }
  const filtered = <T extends { filters?: readonly FilterInput[] }>(field: T) =>
    field.filters ? { ...field, filters: field.filters.map(filter) } : field;
  return { ...rest, dimensions: dims.map(filtered), attributes: attrs.map(filtered), ...(allowsDups === undefined ? {} : { allows_duplicates: allowsDups }) };
}

function filter(given: FilterInput): unknown {
  return Array.isArray(given) ? { name: given[0] as string, ...(given[1] as object) } : given;
}

/** The options of {@link put}. */
export interface PutOptions extends CallOptions {
  /**
   * The timestamp of the write. Default: now, or just after the latest write if that is up to five seconds ahead of the
   * clock. It is later than those of earlier calls for the array that are not done.
   */
  at?: Timestamp;
  /** The order of the cells of a dense write. Default: `"row"`. */
  order?: Order;
  /** Prevents the write from starting. A write that has started is completed, so it is never unknown whether it is visible. */
  signal?: AbortSignal | undefined;
}

/** The cells to write: the values of the only attribute, or columns by field. */
export type PutData = ColumnInput | Chunk | { readonly [field: string]: ColumnInput | Chunk };

/**
 * Writes cells atomically, as one fragment, and returns it. A dense write fills the selected box. A sparse write has a
 * column for each dimension too. Cells of an attribute with an enumeration are labels or indices. Dates are a `Date`,
 * ISO 8601 text, or a bigint in the field's unit. The array then shows the new cells, unless it is open as of a time.
 *
 * If this fails, nothing was written, unless the message starts with "the array was changed": then do not repeat the write.
 *
 * @example
 * ```js
 * import { create, MemoryStore, put } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "sparse",
 *   dims: [{ name: "id", type: "int64", domain: [0, 999], tile: 100 }],
 *   attrs: [{ name: "name", type: "string_utf8", cell: "var" }],
 * });
 * await put(array, null, { id: BigInt64Array.of(7n, 9n), name: ["heron", "stork"] });
 * ```
 */
export async function put(array: TileArray, selection: Selection, data: PutData, options: PutOptions = {}): Promise<FragmentInfo> {
  check<PutOptions>({ array, data, options }, { at: 1, order: 1, signal: 1 });
  const { at, signal } = options;
  const order = orderOf(options.order);
  signal?.throwIfAborted();
  const dense = array.kind === "dense";
  if (!dense && selection !== null && selection !== undefined) {
    throw new HyperslabError("InvalidArgument", "the array is sparse: give null as the selection, and the coordinates as columns");
  }
  const columns = encodedColumns(array, data, order);
  const box = dense ? selectionJson(selection, array.dims) : undefined;
  const layout = dense ? order : "unordered";
  return change(array, at, async (time) => {
    signal?.throwIfAborted();
    const name = await call(undefined, () => array.raw.put(box, layout, columns as never, time, seed()));
    return written(array, name, time);
  });
}

/** The fragment that was written at `time`, which the array then shows. @internal */
export async function written(array: TileArray, name: string, time: number): Promise<FragmentInfo> {
  const fragment = await array.changed(time, name);
  if (fragment) return fragment;
  throw new HyperslabError("NotFound", `the array was changed, so do not repeat the call, but its new fragment ${name} was merged or removed since; open the array again`);
}

/** The columns as the engine takes them. @internal */
export function encodedColumns(array: TileArray, data: PutData, order: Order): RawInput[] {
  const fields = new Map([...array.dims.map((d) => [d.name, d] as const), ...array.attrs.map((a) => [a.name, a] as const)]);
  return Object.entries(columnsOf(array, data, order)).map(([name, input]) => {
    const field = fields.get(name);
    if (!field) throw new HyperslabError("InvalidArgument", `there is no field '${name}'; the fields are ${[...fields.keys()].join(", ")}`);
    return encode(name, field, input);
  });
}

function columnsOf(array: TileArray, data: PutData, order: Order): Record<string, ColumnInput> {
  const plain = (input: ColumnInput | Chunk): ColumnInput => {
    if (!(typeof input === "object" && input !== null && "data" in input && ArrayBuffer.isView(input.data))) return input as ColumnInput;
    if (array.kind === "dense" && (input.order ?? order) !== order) {
      throw new HyperslabError("InvalidArgument", `the chunk has the order '${input.order}'; pass { order: "${input.order}" }`);
    }
    return { values: input.data, offsets: input.offsets, validity: input.validity };
  };
  // Fields may have the names of a column's or a chunk's properties.
  const names = [...array.dims, ...array.attrs].map((field) => field.name);
  const given = data as Record<string, unknown>;
  const has = (...parts: string[]) => ArrayBuffer.isView(given[parts[0] ?? ""]) && parts.every((part) => part in data) && !parts.every((part) => names.includes(part));
  const isColumn = ArrayBuffer.isView(data) || Array.isArray(data) || has("data", "shape") || has("values");
  if (!isColumn) return Object.fromEntries(Object.entries(data as Record<string, ColumnInput | Chunk>).map(([k, v]) => [k, plain(v)]));
  const only = array.attrs[0];
  if (!only || array.attrs.length > 1 || array.kind === "sparse") {
    throw new HyperslabError("InvalidArgument", `give columns by field: { ${names.slice(0, 3).join(": …, ")}: … }`);
  }
  return { [only.name]: plain(data as ColumnInput | Chunk) };
}

/** Writes `__manifest.json`, so that a server without listing can serve the array. */
export async function writeManifest(array: TileArray): Promise<void> {
  check({ array });
  await within(array.store, undefined, () => rawStore(array.store).index(array.path));
}
