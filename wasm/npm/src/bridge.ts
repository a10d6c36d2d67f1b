// The interface that the engine calls: adapts a store, whose methods are optional, to a fixed set of methods.
import { HyperslabError } from "./errors.js";
import type { Priority, Store, StoreEntry } from "./store.js";

/** On behalf of which call the engine reads. Workers pass it on. */
export interface Reader {
  low?: boolean;
  /** The number of a call whose reads are watched. */
  call?: number;
}

const watchers = new Map<number, (bytes: number) => void>();
let calls = 0;

/** Watches the reads of a call: `heard` gets the number of bytes that have arrived. */
export function watch(heard: (bytes: number) => void): { call: number; stop(): void } {
  const call = (calls += 1);
  watchers.set(call, heard);
  return { call, stop: () => watchers.delete(call) };
}

/** Options of a read for the engine. */
export function readerOf(priority: Priority = "high"): Reader | undefined {
  if (priority === "high") return undefined;
  if (priority === "low") return { low: true };
  throw new HyperslabError("InvalidArgument", `unknown priority '${String(priority)}'; use high or low`);
}

export interface Child { name: string; dir: boolean; size?: number | undefined }

/** Holds the store weakly. The engine keeps the bridge until the store is collected, so a strong reference would leak the store. */
export class Bridge {
  private readonly weak: WeakRef<Store>;
  /** The files that are being written in parts, by number. */
  private readonly files = new Map<number, WritableStreamDefaultWriter<Uint8Array>>();
  private last = 0;

  constructor(store: Store) {
    this.weak = new WeakRef(store);
  }

  private get store(): Store {
    const store = this.weak.deref();
    if (!store) throw new HyperslabError("Cancelled", "the store was garbage-collected; keep a reference to it until calls are done");
    return store;
  }

  /** The store and the key of a path. `../lat/x` is the file `x` of the store next to this one; without one, it does not exist. */
  private place(path: string): { store: Store; key: string } {
    const { store } = this;
    const [, name, key = ""] = /^\.\.\/([^/]+)(?:\/(.*))?$/s.exec(path) ?? [];
    return name === undefined ? { store, key: path } : { store: neighbour(store, name), key };
  }

  async read(path: string, start: number, end: number, reader: Reader | undefined, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const { store, key } = this.place(path);
    const options = { signal, ...(reader?.low ? { priority: "low" as const } : {}) };
    const bytes = store.getRange
      ? await store.getRange(key, { offset: start, length: end - start }, options)
      : (await store.get(key, options))?.subarray(start, end);
    if (reader?.call !== undefined) watchers.get(reader.call)?.(end - start);
    return bytes;
  }

  async readAll(path: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const { store, key } = this.place(path);
    return store.get(key, { signal });
  }

  async size(path: string, signal: AbortSignal): Promise<number | undefined> {
    const { store, key } = this.place(path);
    if (store.getSize) return store.getSize(key, { signal });
    return (await store.get(key, { signal }))?.byteLength;
  }

  async list(dir: string, signal: AbortSignal): Promise<Child[]> {
    const { store, key } = this.place(dir);
    if (!store.list) {
      throw new HyperslabError("Unsupported", "the store cannot list files; add a __manifest.json with `hyperslab index`");
    }
    const prefix = key === "" ? "" : `${key}/`;
    const children = new Map<string, Child>();
    for await (const entry of await store.list(prefix, { signal })) {
      const child = childOf(prefix, entry);
      if (child && !children.get(child.name)?.dir) children.set(child.name, child);
    }
    return [...children.values()];
  }

  async put(path: string, bytes: Uint8Array, over: boolean): Promise<void> {
    if (!this.store.set) throw readOnly();
    await this.store.set(path, bytes, over ? {} : { ifNoneMatch: "*" });
  }

  async remove(path: string): Promise<void> {
    if (!this.store.delete) throw readOnly();
    await this.store.delete(path);
  }

  /** Begins a new file, to be written in parts. Returns its number. */
  async begin(path: string): Promise<number> {
    const { store } = this;
    if (!store.set) throw readOnly();
    const stream = store.createWritable ? await store.createWritable(path, { ifNoneMatch: "*" }) : gathered(store, path);
    this.files.set((this.last += 1), stream.getWriter());
    return this.last;
  }

  async append(file: number, bytes: Uint8Array): Promise<void> {
    await this.files.get(file)?.write(bytes);
  }

  /** Ends a file: it becomes visible, or it is given up. */
  async end(file: number, keep: boolean): Promise<void> {
    const writer = this.files.get(file);
    this.files.delete(file);
    await (keep ? writer?.close() : writer?.abort());
  }
}

/** The stores next to others, by name. They keep their caches. */
const neighbours = new WeakMap<Store, Map<string, Store>>();
/** Has no files. */
const NOWHERE: Store = { get: () => undefined, list: () => [] };

function neighbour(store: Store, name: string): Store {
  const known = neighbours.get(store) ?? new Map<string, Store>();
  neighbours.set(store, known);
  const found = known.get(name) ?? store.beside?.(name) ?? NOWHERE;
  known.set(name, found);
  return found;
}

/** A file of a store that only writes whole files. */
function gathered(store: Store, path: string): WritableStream<Uint8Array> {
  const parts: Uint8Array[] = [];
  return new WritableStream({
    write: (part) => void parts.push(part),
    close: async () => {
      await store.set?.(path, new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer()), { ifNoneMatch: "*" });
    },
  });
}

function childOf(prefix: string, { key, size, dir }: StoreEntry): Child | undefined {
  if (!key.startsWith(prefix)) return undefined;
  const [name, ...below] = key.slice(prefix.length).split("/");
  if (!name) return undefined;
  return below.length > 0 || dir ? { name, dir: true } : { name, dir: false, size };
}

/** The error of a change to a store without `set` or `delete`. */
export function readOnly(what = "the store is"): HyperslabError {
  return new HyperslabError("Unsupported", `${what} read-only; use a store with \`set\` and \`delete\`, such as MemoryStore`);
}
