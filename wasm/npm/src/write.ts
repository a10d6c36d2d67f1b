import { moment, open, rawStore, seed, within, type CallOptions, type Moment, type TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { selectionJson, type Selection } from "./select.js";
import type { Store } from "./store.js";
import { encode, type ColumnInput, type DataType } from "./values.js";
import { orderOf, type Chunk, type Order } from "./read.js";

type FilterInput = string | readonly [string, Record<string, unknown>] | { name: string; [option: string]: unknown };

/** The schema of a new array. Any further entry of what `hyperslab schema` prints is accepted too. */
export interface SchemaInput {
  type: "dense" | "sparse";
  dims: readonly { name: string; type: DataType; domain?: readonly [unknown, unknown]; tile?: number | bigint; filters?: readonly FilterInput[] }[];
  attrs: readonly {
    name: string; type: DataType; cell?: number | "var"; nullable?: boolean; fill?: unknown; enumeration?: string; filters?: readonly FilterInput[];
  }[];
  /** Whether cells of a sparse array may share coordinates. */
  allowsDups?: boolean;
  [entry: string]: unknown;
}

export interface CreateOptions {
  /** The path of the array in the store. */
  path?: string;
  /** The time of creation; now unless given. */
  at?: Moment;
  /** 32 bytes that encrypt the array. */
  key?: Uint8Array;
}

/** Creates an array and opens it. */
export async function create(store: Store, schema: SchemaInput, options: CreateOptions = {}): Promise<TileArray> {
  const { path = "", at = Date.now(), key } = options;
  const json = JSON.stringify(schemaJson(schema), (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
  await within(store, undefined, async () => rawStore(store).create(path, json, moment(at), seed(), key));
  return open(store, { path, ...(key ? { key } : {}) });
}

function schemaJson({ dims, attrs, allowsDups, ...rest }: SchemaInput): object {
  const filtered = <T extends { filters?: readonly FilterInput[] }>(field: T) =>
    field.filters ? { ...field, filters: field.filters.map(filter) } : field;
  const dated = (v: unknown) => (v instanceof Date ? v.toISOString() : v);
  const dimensions = dims.map((d) => filtered(d.domain ? { ...d, domain: d.domain.map(dated) as [unknown, unknown] } : d));
  return { ...rest, dimensions, attributes: attrs.map(filtered), ...(allowsDups === undefined ? {} : { allows_duplicates: allowsDups }) };
}

function filter(given: FilterInput): unknown {
  return Array.isArray(given) ? { name: given[0] as string, ...(given[1] as object) } : given;
}

export interface PutOptions extends CallOptions {
  /** The time of the write; now unless given. */
  at?: Moment;
  /** The order of the cells of a dense write; `"row"` unless given. */
  order?: Order;
}

/** What is written: the values of the only attribute, or columns by field. */
export type PutData = ColumnInput | Chunk | { readonly [field: string]: ColumnInput | Chunk };

/**
 * Writes cells as one fragment, which is visible as a whole or not at all, and gives its name.
 * A dense write fills the selected box; a sparse one has a column for each dimension too.
 */
export async function put(array: TileArray, selection: Selection, data: PutData, options: PutOptions = {}): Promise<string> {
  const { at = Date.now(), signal } = options;
  const order = orderOf(options.order);
  signal?.throwIfAborted();
  const dense = array.kind === "dense";
  const given = columnsOf(array, data, order);
  const fields = new Map([...array.dims.map((d) => [d.name, d] as const), ...array.attrs.map((a) => [a.name, a] as const)]);
  const columns = Object.entries(given).map(([name, input]) => {
    const field = fields.get(name);
    if (!field) throw new HyperslabError("InvalidArgument", `there is no field '${name}'; the fields are ${[...fields.keys()].join(", ")}`);
    return encode(name, field, input);
  });
  const box = dense ? selectionJson(selection, array.dims) : undefined;
  const layout = dense ? order : "unordered";
  return call(undefined, () => array.raw.put(box, layout, columns as never, moment(at), seed()));
}

function columnsOf(array: TileArray, data: PutData, order: Order): Record<string, ColumnInput> {
  const plain = (input: ColumnInput | Chunk): ColumnInput => {
    if (!(typeof input === "object" && "data" in input && ArrayBuffer.isView(input.data))) return input as ColumnInput;
    if (array.kind === "dense" && (input.order ?? order) !== order) {
      throw new HyperslabError("InvalidArgument", `the chunk has the order '${input.order}': give put { order: "${input.order}" }`);
    }
    return { values: input.data, offsets: input.offsets, validity: input.validity };
  };
  const isColumn = ArrayBuffer.isView(data) || Array.isArray(data) || ("data" in data && ArrayBuffer.isView(data.data) && "shape" in data)
    || ("values" in data && ArrayBuffer.isView(data.values) && !array.attrs.some((a) => a.name === "values"));
  if (!isColumn) return Object.fromEntries(Object.entries(data as Record<string, ColumnInput | Chunk>).map(([k, v]) => [k, plain(v)]));
  const only = array.attrs[0];
  if (!only || array.attrs.length > 1 || array.kind === "sparse") {
    throw new HyperslabError("InvalidArgument", "name the fields: {field: values, …}");
  }
  return { [only.name]: plain(data as ColumnInput | Chunk) };
}

/** Writes `__manifest.json`, with which a host that cannot list can serve the array. */
export async function writeManifest(array: TileArray): Promise<void> {
  await within(array.store, undefined, () => rawStore(array.store).index(array.path));
}
