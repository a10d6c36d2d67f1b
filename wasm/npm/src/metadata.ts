// Writes metadata of arrays and groups, and members of groups.
import { check } from "./arguments.js";
import { keyOf, rawStore, seed, TileArray, waitUntil, within, writableStoreOf, writeTimestamp, type Timestamp } from "./array.js";
import { HyperslabError } from "./errors.js";
import { refuseRounded } from "./exact.js";
import type { Store } from "./store.js";
import { inTurn } from "./turns.js";
import { encode, isText, typeOf, type DataType, type TypedArray } from "./values.js";

/** A value of metadata. A list, typed or not, has several values of one type. */
export type MetaInput = string | number | bigint | boolean | Date | TypedArray | readonly (number | bigint | boolean | Date)[];

/** The place and the time of a change. */
export interface ChangeOptions {
  /** The path in the store. */
  path?: string;
  /** The time of the change. Default: now, or just after the latest change if that is up to five seconds ahead of the clock. */
  at?: Timestamp;
  /** The encryption key, 32 bytes. */
  key?: Uint8Array;
}

/**
 * Sets and removes metadata of an array or a group: `putMeta(array, { units: "K", old: null })`. `null` removes a key;
 * other keys stay. An array then shows the change.
 *
 * - Text is stored as `string_utf8`, booleans as `bool`, dates as `datetime_ms`.
 * - Whole numbers are stored as `int32` if they fit, and other numbers as `float64`.
 * - BigInts are stored as `int64`, or as `uint64` from 2^63 on.
 * - Typed arrays keep their type.
 * - For another type, give `{ type, value }`.
 *
 * @example
 * ```js
 * import { create, MemoryStore, putMeta } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "dense",
 *   dims: [{ name: "x", type: "int32", domain: [0, 9] }],
 *   attrs: [{ name: "a", type: "int32" }],
 * });
 * await putMeta(array, { units: "K", offset: { type: "float32", value: 273.15 } });
 * const { units } = await array.meta();
 * ```
 */
export async function putMeta(target: TileArray | string | URL | Store, entries: { readonly [key: string]: MetaInput | { type: DataType; value: MetaInput } | null }, options: ChangeOptions = {}): Promise<void> {
  check<ChangeOptions>({ entries, options }, { path: 1, at: 1, key: 1 });
  const { at, path, key } = target instanceof TileArray ? { ...options, path: target.path, key: target.key } : options;
  const store = target instanceof TileArray ? writableStoreOf(target.store) : writableStoreOf(target);
  const raw = Object.entries(entries).map(([name, value]) => (value === null ? { key: name } : { key: name, ...metaBytes(name, value) }));
  const time = await within(store, undefined, () => rawStore(store).putMetadata(path ?? "", raw, at === undefined ? undefined : writeTimestamp(at), Date.now(), seed(), keyOf(key)));
  if (at === undefined) await waitUntil(time);
  if (target instanceof TileArray) await target.changed(time);
}

/** Creates an empty group in a writable store (in Node, also at a path). Fails with the code `Unsupported` if the store is read-only, as HTTP servers are. */
export async function createGroup(place: string | URL | Store, options: { path?: string } = {}): Promise<void> {
  check<{ path: string }>({ options }, { path: 1 });
  const { path = "" } = options;
  const store = writableStoreOf(place);
  await within(store, undefined, () => inTurn(store, () => rawStore(store).createGroup(path)));
}

/** A member of a group: a path in the group's folder, or a URL. `kind` is needed only if nothing is there yet. */
export type MemberInput = string | {
  /** A path in the group's folder, or a URL. */
  uri: string;
  /** The kind of the member. Default: the kind found at the path. */
  kind?: "array" | "group";
};

/**
 * Adds and removes members of a group, by name: `putMembers(store, { elevation: "arrays/elevation", old: null })`.
 * `null` removes a member from the group and leaves its files. Other members stay.
 *
 * @example
 * ```js
 * import { create, createGroup, MemoryStore, open, putMembers } from "hyperslab";
 *
 * const store = new MemoryStore();
 * const schema = { type: "dense", dims: [{ name: "x", type: "int32", domain: [0, 9] }], attrs: [{ name: "a", type: "int32" }] };
 * await createGroup(store);
 * await create(store, schema, { path: "arrays/elevation" });
 * await putMembers(store, { elevation: "arrays/elevation" });
 * const { members } = await open(store, { kind: "group" });
 * console.log(members.map(({ name, kind }) => `${name}: ${kind}`));
 * ```
 *
 * ```text
 * [ 'elevation: array' ]
 * ```
 */
export async function putMembers(place: string | URL | Store, members: { readonly [name: string]: MemberInput | null }, options: ChangeOptions = {}): Promise<void> {
  check<ChangeOptions>({ members, options }, { path: 1, at: 1, key: 1 });
  const { path = "", at, key } = options;
  const store = writableStoreOf(place);
  const json = JSON.stringify(Object.fromEntries(Object.entries(members).map(([name, member]) => [name, memberOf(name, member)])));
  const time = await within(store, undefined, () => rawStore(store).putMembers(path, json, at === undefined ? undefined : writeTimestamp(at), Date.now(), seed(), keyOf(key)));
  if (at === undefined) await waitUntil(time);
}

/** A member as the engine takes it. */
function memberOf(name: string, given: MemberInput | null): { uri: string; type?: string | undefined } | null {
  if (given === null) return null;
  const { uri, kind } = typeof given === "string" ? { uri: given } : Object(given) as Exclude<MemberInput, string>;
  if (typeof uri === "string" && uri !== "" && (kind === undefined || kind === "array" || kind === "group")) return { uri, type: kind };
  throw new HyperslabError("InvalidArgument", `the member '${name}' must be a path or a URL, { uri, kind }, or null to remove it; a kind is "array" or "group"`);
}

function metaBytes(name: string, given: MetaInput | { type: DataType; value: MetaInput }): { type: DataType; data: Uint8Array } {
  const typed = typeof given === "object" && "type" in given && "value" in given;
  if (typed) check({ type: given.type });
  const value = typed ? given.value : given;
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? (value as TypedArray | readonly Item[]) : [value as Item];
  const isTexts = typed ? isText(given.type) : list.length > 0 && Array.from<unknown>(list).every((item) => typeof item === "string");
  if (Array.isArray(value) && isTexts) throw new HyperslabError("InvalidArgument", `'${name}': metadata cannot hold a list of text; store one text, such as JSON`);
  const type = typed ? given.type : typeof value === "string" ? "string_utf8" : ArrayBuffer.isView(list) ? typeOf(list) : typeOfAll(name, list);
  if (isText(type) && typeof value === "string") return { type, data: encode(name, { type, cell: "var" }, [value]).data };
  const items = type === "datetime_ms" && !ArrayBuffer.isView(list) ? list.map((item) => (item instanceof Date ? BigInt(item.getTime()) : item)) : list;
  const { data, isText: isDate } = encode(name, { type, cell: 1 }, items as never);
  if (!isDate) return { type, data };
  throw new HyperslabError("InvalidArgument", `'${name}': give a date of type ${type} as a BigInt in its unit, or a Date without a type`);
}

type Item = string | number | bigint | boolean | Date;

/** The type of values that have none. */
function typeOfAll(name: string, list: readonly Item[]): DataType {
  const all = (test: (item: unknown) => boolean) => list.length > 0 && list.every(test);
  if (all((item) => typeof item === "boolean")) return "bool";
  if (all((item) => typeof item === "bigint")) return list.some((item) => (item as bigint) >= 2n ** 63n) ? "uint64" : "int64";
  if (all((item) => item instanceof Date)) return "datetime_ms";
  if (all((item) => typeof item === "number" && Object.is(item | 0, item))) return "int32";
  for (const item of list) refuseRounded(`'${name}'`, item);
  if (all((item) => typeof item === "number")) return "float64";
  throw new HyperslabError("InvalidArgument", `'${name}': metadata is text, a number, a boolean, a Date, or a list of numbers, booleans or Dates; for another type, give { type, value }`);
}
