// Changes the schema of an array.
import { check } from "./arguments.js";
import { seed, waitUntil, writeTimestamp, type Timestamp, type TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { refuseRoundedIn } from "./exact.js";
import type { Coordinate } from "./select.js";
import type { DataType, Fields } from "./values.js";
import { plainSchema, schemaText, type SchemaInput, type TypesOf } from "./write.js";

/** An enumeration to add. Its values are text, unless `type` says otherwise. */
export interface EnumerationInput {
  /** The name of the enumeration, which attributes refer to. */
  name: string;
  /** The values, by index. */
  values: readonly unknown[];
  /** The type of the values. Default: `"string_utf8"`. */
  type?: DataType;
  /** The number of values in each. Default: `"var"` for text, 1 for other types. */
  cell?: number | "var";
  /** Whether the order of the values has a meaning. Default: false. */
  ordered?: boolean;
}

/** Changes to a schema, which are made together. */
export interface SchemaChanges {
  /** Attributes to add. Cells that were written before have their fill value. */
  addAttrs?: SchemaInput["attrs"];
  /** The names of attributes to drop. */
  dropAttrs?: readonly string[];
  /** Enumerations to add. Attributes that are added may use them. */
  addEnumerations?: readonly EnumerationInput[];
  /** Values to append to enumerations, by name. */
  extendEnumerations?: { readonly [name: string]: readonly unknown[] };
  /** The names of enumerations to drop. No attribute may use them. */
  dropEnumerations?: readonly string[];
  /** The new current domain: closed ranges by dimension. It must contain the old one. Other dimensions keep theirs. */
  currentDomain?: { readonly [dimension: string]: readonly [Coordinate, Coordinate] };
}

/** The options of {@link evolve}. */
export interface EvolveOptions {
  /** The time of the change. Reads as of earlier times have the old schema. Default: now. */
  at?: Timestamp;
}

/** The types of the attributes after a change. */
type Evolved<A, C extends SchemaChanges> = Omit<A, C["dropAttrs"] extends readonly (infer N extends string)[] ? N : never> & (C["addAttrs"] extends SchemaInput["attrs"] ? TypesOf<C["addAttrs"]> : object);

/**
 * Changes the schema of an array. No cells are rewritten. Returns the array, which then shows the new schema, unless it
 * is open as of a time.
 *
 * @example
 * ```js
 * import { create, evolve, MemoryStore } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "dense",
 *   dims: [{ name: "x", type: "int32", domain: [0, 999], tile: 100 }],
 *   attrs: [{ name: "a", type: "int32" }],
 * });
 * await evolve(array, { addAttrs: [{ name: "depth", type: "float32" }] });
 * ```
 */
export async function evolve<A extends object, D extends object, const C extends SchemaChanges>(array: TileArray<A, D>, changes: C, options?: EvolveOptions): Promise<TileArray<Evolved<A, C>, D>>;
export async function evolve(array: TileArray, changes: SchemaChanges, options: EvolveOptions = {}): Promise<TileArray<Fields, Fields>> {
  check<SchemaChanges>({ array, changes }, { addAttrs: 1, dropAttrs: 1, addEnumerations: 1, extendEnumerations: 1, dropEnumerations: 1, currentDomain: 1 });
  check<EvolveOptions>({ options }, { at: 1 });
  const { at } = options;
  const { addAttrs = [], dropAttrs, addEnumerations = [], extendEnumerations, dropEnumerations, currentDomain } = changes;
  refuseRoundedIn(changes, "changes");
  const json = schemaText({
    attributes: plainSchema({ type: array.kind, dims: [], attrs: addAttrs }).attributes,
    enumerations: addEnumerations.map((added) => ({ type: "string_utf8", ...added })),
    extended: extendEnumerations,
    dropped_attributes: dropAttrs,
    dropped_enumerations: dropEnumerations,
    current_domain: currentDomain && domain(array, currentDomain),
  });
  const time = at === undefined ? Date.now() : writeTimestamp(at);
  const made = await call(undefined, () => array.raw.evolve(json, time, at === undefined, seed()));
  if (at === undefined) await waitUntil(made);
  await array.changed(made);
  return array;
}

/** The ends of every dimension. */
function domain({ dims }: TileArray, changed: { readonly [dimension: string]: readonly [Coordinate, Coordinate] }): unknown {
  const unknown = Object.keys(changed).find((name) => !dims.some((dim) => dim.name === name));
  if (unknown !== undefined) throw new HyperslabError("InvalidArgument", `there is no dimension '${unknown}'; the dimensions are ${dims.map(({ name }) => name).join(", ")}`);
  return dims.map(({ name, domain }) => (Object.hasOwn(changed, name) ? changed[name] : domain) ?? null);
}
