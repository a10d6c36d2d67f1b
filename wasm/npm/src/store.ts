import { HyperslabError } from "./errors.js";

type Awaitable<T> = T | Promise<T>;

/** A file of a store, or a folder where the store tells them apart. */
export interface StoreEntry {
  /** The whole key, from the store's root. */
  key: string;
  /** Bytes, where they are known. */
  size?: number | undefined;
  /** Whether it is a folder. */
  dir?: boolean | undefined;
}

export interface StoreOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Where arrays are: files by key. Keys are relative, with `/` between their parts. Absent files are
 * `undefined`. Only `get` is needed to read an array that has a `__manifest.json`.
 */
export interface Store {
  get(key: string, options?: StoreOptions): Awaitable<Uint8Array | undefined>;
  /** Bytes of a file; without this, whole files are read. */
  getRange?(key: string, range: { offset: number; length: number }, options?: StoreOptions): Awaitable<Uint8Array | undefined>;
  /** Bytes a file has; without this, it is read. */
  getSize?(key: string, options?: StoreOptions): Awaitable<number | undefined>;
  /**
   * The files and folders whose keys start with `prefix`, which is empty or ends with `/`: only
   * direct children, or everything below; both will do.
   */
  list?(prefix: string, options?: StoreOptions): Awaitable<Iterable<StoreEntry> | AsyncIterable<StoreEntry>>;
  /** Writes a file. With `ifNoneMatch: "*"` only a new one, else fails with the code `AlreadyExists`. */
  set?(key: string, bytes: Uint8Array, options?: StoreOptions & { ifNoneMatch?: "*" }): unknown;
  /** Removes a file, or a folder that has become empty where there are folders; absent is fine. */
  delete?(key: string): unknown;
}

/** Files in memory: a `Map` from keys to bytes. */
export class MemoryStore extends Map<string, Uint8Array> implements Store {
  override set(key: string, bytes: Uint8Array, options?: { ifNoneMatch?: "*" }): this {
    if (options?.ifNoneMatch && this.has(key)) throw new HyperslabError("AlreadyExists", `${key}: already exists`);
    return super.set(key, bytes);
  }

  *list(prefix: string): Generator<StoreEntry> {
    for (const [key, bytes] of this) {
      if (key.startsWith(prefix)) yield { key, size: bytes.byteLength };
    }
  }
}
