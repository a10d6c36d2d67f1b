// Checks the arguments of public functions, which programs without TypeScript may get wrong.
import { HyperslabError } from "./errors.js";

type Check = readonly [takes: string, test: (value: unknown) => boolean];

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const is = (type: string): Check => [`a ${type}`, (value) => typeof value === type];
const texts: Check = ["a string, or a list of strings", (value) => typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"))];
const object: Check = ["an object", isObject];
const record: Check = ["an object", (value) => isObject(value) && !Array.isArray(value)];
const listOf = (what: string, test: Check[1]): Check => [`a list of ${what}`, (value) => Array.isArray(value) && value.every(test)];
const names = listOf("strings", (item) => typeof item === "string");
const objects = listOf("objects", (item) => isObject(item));
const view: Check = ["a typed array", ArrayBuffer.isView];
const iterable: Check = ["a list", (value) => typeof value === "string" || (isObject(value) && Symbol.iterator in (value as object))];
const number: Check = ["a number", (value) => typeof value === "number" && !Number.isNaN(value)];
const has = (takes: string, method: string): Check => [takes, (value) => isObject(value) && typeof (value as Record<string, unknown>)[method] === "function"];
const store = has("a store: an object with `get`", "get");
const isArray: Check[1] = (value) => isObject(value) && isObject((value as { raw?: unknown }).raw);

/** The accepted values of options and arguments, by name. Options that are not here are checked where they are used. */
const TAKES: Readonly<Record<string, Check>> = {
  addAttrs: objects,
  addEnumerations: objects,
  amplification: number,
  array: ["an open array", isArray],
  attributes: record,
  attrs: texts,
  batchBytes: number,
  tileCacheBytes: number,
  cells: ["a result of `columns()`", (value) => isObject(value) && isObject((value as { columns?: unknown }).columns)],
  changes: record,
  column: has("a Column", "at"),
  coordinates: iterable,
  currentDomain: record,
  data: object,
  depth: number,
  dryRun: is("boolean"),
  end: number,
  dropAttrs: names,
  dropEnumerations: names,
  entries: record,
  extendEnumerations: record,
  fetch: is("function"),
  fields: record,
  files: iterable,
  from: store,
  headers: record,
  http: record,
  items: iterable,
  kind: is("string"),
  limit: ["a whole number or Infinity", (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 0)],
  members: record,
  memoryBytes: number,
  mode: is("string"),
  mount: has("a Mount", "readFile"),
  mounts: record,
  name: is("string"),
  offsets: view,
  onProgress: is("function"),
  onRequest: is("function"),
  onTile: is("function"),
  options: record,
  order: is("string"),
  out: view,
  path: is("string"),
  pool: has("a Pool of hyperslab/pool", "engine"),
  prefix: is("string"),
  priority: is("string"),
  ranges: object,
  request: ["a Request", (value) => isObject(value) && typeof (value as { url?: unknown }).url === "string"],
  root: has("a folder's handle", "getFileHandle"),
  schema: record,
  sign: is("function"),
  signal: has("an AbortSignal", "throwIfAborted"),
  source: ["an open array or a store", (value) => isArray(value) || store[1](value)],
  start: number,
  to: store,
  treat403AsMissing: is("boolean"),
  type: is("string"),
  uri: is("string"),
  validity: view,
  where: is("string"),
  workers: number,
};

/** Arguments whose entries are options. */
const OPTIONS = ["options", "changes", "fields", "http"];

/** Checks arguments by name, and the entries of `options` by theirs. `known` has the names of all options. */
export function check<O extends object>(given: Readonly<Record<string, unknown>>, known?: { readonly [Name in keyof Required<O>]: 1 }): void {
  for (const [name, value] of Object.entries(given)) {
    one("argument", name, value);
    if (value === undefined || !OPTIONS.includes(name)) continue;
    for (const [option, its] of Object.entries(value as object)) {
      if (known && its !== undefined && !Object.hasOwn(known, option)) {
        throw new HyperslabError("InvalidArgument", `there is no option '${option}'; the options are ${Object.keys(known).join(", ")}`);
      }
      // Fields may have any name.
      if (name !== "fields") one("option", option, its);
    }
  }
}

function one(what: "argument" | "option", name: string, value: unknown): void {
  // An option may be `undefined`, as if it were left out; so may the argument `options`.
  if (value === undefined && (what === "option" || name === "options")) return;
  const [takes, test] = (Object.hasOwn(TAKES, name) ? TAKES[name] : undefined) ?? ["", () => true];
  if (test(value)) return;
  throw new HyperslabError("InvalidArgument", `the ${what} '${name}' must be ${takes}, not ${shown(value)}`);
}

/** A value as messages show it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  return isObject(value) ? Object.prototype.toString.call(value).slice(8, -1).replace(/^/, "an object: ") : `${String(value)}`;
}
