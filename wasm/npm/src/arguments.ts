// Checks the arguments of public functions, which programs without TypeScript may get wrong.
import { HyperslabError } from "./errors.js";

type Check = readonly [takes: string, test: (value: unknown) => boolean];

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const is = (type: string): Check => [`a ${type}`, (value) => typeof value === type];
const texts: Check = ["a string, or a list of strings", (value) => typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"))];
const object: Check = ["an object", isObject];
const number: Check = ["a number", (value) => typeof value === "number" && !Number.isNaN(value)];
const has = (takes: string, method: string): Check => [takes, (value) => isObject(value) && typeof (value as Record<string, unknown>)[method] === "function"];
const store = has("a store: an object with `get`", "get");

/** The accepted values of options and arguments, by name. Options that are not here are checked where they are used. */
const TAKES: Readonly<Record<string, Check>> = {
  array: ["an open array", (value) => isObject(value) && isObject((value as { raw?: unknown }).raw)],
  attrs: texts,
  batchBytes: number,
  tileCacheBytes: number,
  changes: object,
  data: object,
  depth: number,
  dryRun: is("boolean"),
  entries: object,
  from: store,
  http: object,
  kind: is("string"),
  members: object,
  mode: is("string"),
  onProgress: is("function"),
  onRequest: is("function"),
  onTile: is("function"),
  options: object,
  order: is("string"),
  out: ["a typed array", ArrayBuffer.isView],
  path: is("string"),
  pool: has("a Pool of hyperslab/pool", "engine"),
  priority: is("string"),
  ranges: object,
  schema: object,
  signal: has("an AbortSignal", "throwIfAborted"),
  to: store,
  where: is("string"),
};

/** Checks arguments by name, and the entries of `options` by theirs. */
export function check(given: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(given)) {
    one("argument", name, value);
    if (name === "options" && value !== undefined) for (const [option, its] of Object.entries(value as object)) one("option", option, its);
  }
}

function one(what: "argument" | "option", name: string, value: unknown): void {
  // An option may be `undefined`, as if it were left out; so may the argument `options`.
  if (value === undefined && (what === "option" || name === "options")) return;
  const [takes, test] = (Object.hasOwn(TAKES, name) ? TAKES[name] : undefined) ?? ["", () => true];
  if (test(value)) return;
  throw new HyperslabError("InvalidArgument", `the ${what} '${name}' must be ${takes}, not ${shown(value)}`);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  return isObject(value) ? Object.prototype.toString.call(value).slice(8, -1).replace(/^/, "an object: ") : `${String(value)}`;
}
