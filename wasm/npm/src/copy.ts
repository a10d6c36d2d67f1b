// Copies the files of an array or group from one store to another.
import { check } from "./arguments.js";
import type { CallOptions } from "./array.js";
import { HyperslabError } from "./errors.js";
import type { Store } from "./store.js";

/** The options of {@link copy}. */
export interface CopyOptions extends CallOptions {
  /** The folder to copy. Default: everything in the store. */
  path?: string;
  /** Called after each file, with the number of files and of bytes so far. */
  onProgress?: (done: { files: number; bytes: number; of: number }) => void;
}

/** Files and folders by which readers recognise arrays and groups. They are written last. */
const MARKS = /(^|\/)(__schema|__array_schema\.tdb|__group|__tiledb_group\.tdb|__manifest\.json)(\/|$)/;

/**
 * Copies an array, a group or everything in a store to another store, unchanged. The copy becomes visible once it is
 * complete. Files that exist are not replaced: the copy then fails with the code `AlreadyExists`. Returns the number of
 * files.
 *
 * @example
 * ```js
 * import { copy, HttpStore, MemoryStore, open } from "hyperslab";
 *
 * const kept = new MemoryStore();
 * await copy(new HttpStore("https://example.org/arrays/rain"), kept);
 * console.log((await open(kept)).shape);
 * ```
 *
 * ```text
 * [ 366 ]
 * ```
 */
export async function copy(from: Store, to: Store, options: CopyOptions = {}): Promise<number> {
  check<CopyOptions>({ from, to, options }, { path: 1, onProgress: 1, signal: 1 });
  const { path: given = "", signal, onProgress } = options;
  const path = given.replace(/^\/+|\/+$/g, "");
  if (!to.set) throw new HyperslabError("Unsupported", "the store to copy to is read-only; use one with `set`, such as MemoryStore");
  const keys = await keysBelow(from, path === "" ? "" : `${path}/`, signal);
  if (keys.length === 0) throw new HyperslabError("NotFound", `there are no files to copy in '${path}'; check the path`);
  // The marks of members come before those of their group.
  const rank = (key: string) => (MARKS.test(key) ? 1 / key.split("/").length : 0);
  keys.sort((a, b) => rank(a) - rank(b));
  await refuseOthers(to, keys.filter((key) => MARKS.test(key)), signal);
  let bytes = 0;
  for (const [i, key] of keys.entries()) {
    signal?.throwIfAborted();
    const file = await from.get(key, { signal });
    // A vacuum may have removed the file since it was listed.
    if (!file) throw new HyperslabError("NotFound", `${key}: the file was removed during the copy; copy again to an empty store`);
    await to.set(key, file, { ifNoneMatch: "*" });
    bytes += file.length;
    onProgress?.({ files: i + 1, bytes, of: keys.length });
  }
  return keys.length;
}

/** Refuses to copy over an array or a group: their files would be mixed. */
async function refuseOthers(to: Store, marks: string[], signal: AbortSignal | undefined): Promise<void> {
  if (!to.list) return;
  const folders = new Set(marks.map((key) => key.slice(0, key.search(MARKS))));
  for (const folder of folders) {
    const prefix = folder === "" ? "" : `${folder}/`;
    for await (const { key } of await to.list(prefix, { signal })) {
      if (!MARKS.test(key.slice(prefix.length))) continue;
      throw new HyperslabError("AlreadyExists", `there is an array or a group in '${folder}' already; copy to an empty store, or to another path`);
    }
  }
}

/** The keys of the files below a prefix. @internal */
export async function keysBelow(store: Store, prefix: string, signal: AbortSignal | undefined): Promise<string[]> {
  if (!store.list) throw new HyperslabError("Unsupported", "the store cannot list its files; open it by a URL that can");
  const keys: string[] = [];
  for await (const { key, dir } of await store.list(prefix, { signal })) {
    if (dir) keys.push(...(await keysBelow(store, `${key.replace(/\/$/, "")}/`, signal)));
    else keys.push(key);
  }
  return keys;
}
