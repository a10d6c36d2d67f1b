import { HyperslabError } from "./errors.js";

type Awaitable<T> = T | Promise<T>;

/** A file of a store, or a folder if the store has folders. */
export interface StoreEntry {
  /** The full key, relative to the store's root. */
  key: string;
  /** The size in bytes, if known. */
  size?: number | undefined;
  /** Whether it is a folder. */
  dir?: boolean | undefined;
}

/** How urgent a read is. Low reads wait while others run, and few of them run at a time. */
export type Priority = "high" | "low";

/** The options of a store's reads. */
export interface StoreOptions {
  /** Aborts when no caller waits for the file any more. */
  signal?: AbortSignal | undefined;
  /** Default: `"high"`. */
  priority?: Priority | undefined;
}

/**
 * A store of files by key. Keys are relative, with `/` between their parts. Missing files are `undefined`. To read an
 * array that has a `__manifest.json`, `get` is enough. To write, a store needs `set` and `delete`.
 */
export interface Store {
  /** The bytes of a file. `undefined` if it does not exist. */
  get(key: string, options?: StoreOptions): Awaitable<Uint8Array | undefined>;
  /** Reads a part of a file. Without it, whole files are read. */
  getRange?(key: string, range: { offset: number; length: number }, options?: StoreOptions): Awaitable<Uint8Array | undefined>;
  /** The size of a file in bytes. Without it, the file is read. */
  getSize?(key: string, options?: StoreOptions): Awaitable<number | undefined>;
  /**
   * Lists the files and folders whose keys start with `prefix`, which is empty or ends with `/`. It may return only
   * direct children or everything below.
   */
  list?(prefix: string, options?: StoreOptions): Awaitable<Iterable<StoreEntry> | AsyncIterable<StoreEntry>>;
  /**
   * The store whose root is the folder `name` next to this store's root. An array that is the root of its store finds the
   * coordinates of its axes there: `lat=30:40`. Without it, such an array has no neighbours. Called once for each name.
   */
  beside?(name: string): Store | undefined;
  /** Writes a file. With `ifNoneMatch: "*"`, it fails with the code `AlreadyExists` if the file exists. */
  set?(key: string, bytes: Uint8Array, options?: StoreOptions & { ifNoneMatch?: "*" }): unknown;
  /**
   * Writes a file in parts. It becomes visible when the stream is closed; aborting removes the parts. Without it, large
   * files are held in memory until they are complete.
   */
  createWritable?(key: string, options?: { ifNoneMatch?: "*" }): Awaitable<WritableStream<Uint8Array>>;
  /** Removes a file or, if the store has folders, an empty folder. Does nothing if it does not exist. */
  delete?(key: string): unknown;
}

/** A file that is written in parts under a temporary name. */
export interface FileSink { write(bytes: Uint8Array): Promise<void>; close(): Promise<void>; abort(): Promise<void> }

/** A stream to a file. If anything fails, its parts are removed. @internal */
export function writable(sink: FileSink): WritableStream<Uint8Array> {
  const guarded = (work: Promise<void>) => work.catch(async (error: unknown) => {
    await sink.abort().catch(() => {});
    throw error;
  });
  return new WritableStream({ write: (bytes) => guarded(sink.write(bytes)), close: () => guarded(sink.close()), abort: () => sink.abort() });
}

/** Writes a whole file to a stream. @internal */
export async function fill(stream: WritableStream<Uint8Array>, bytes: Uint8Array): Promise<void> {
  const writer = stream.getWriter();
  await writer.write(bytes);
  await writer.close();
}

/** Files in memory: a `Map` from keys to bytes. */
export class MemoryStore extends Map<string, Uint8Array> implements Store {
  /** Sets a file. With `ifNoneMatch: "*"`, fails with the code `AlreadyExists` if it exists. */
  override set(key: string, bytes: Uint8Array, options?: { ifNoneMatch?: "*" }): this {
    if (options?.ifNoneMatch && this.has(key)) throw new HyperslabError("AlreadyExists", `${key}: already exists`);
    return super.set(key, bytes);
  }

  /** Lists the files below a folder. */
  *list(prefix: string): Generator<StoreEntry> {
    for (const [key, bytes] of this) {
      if (key.startsWith(prefix)) yield { key, size: bytes.byteLength };
    }
  }
}
