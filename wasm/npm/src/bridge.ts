// What the engine calls: a store's optional and lenient methods as a fixed and strict set.
import { HyperslabError } from "./errors.js";
import type { Store, StoreEntry } from "./store.js";

export interface Child { name: string; dir: boolean; size?: number | undefined }

/** Holds the store weakly: the engine has the bridge for as long as the store is there, which would else be for ever. */
export class Bridge {
  private readonly weak: WeakRef<Store>;

  constructor(store: Store) {
    this.weak = new WeakRef(store);
  }

  private get store(): Store {
    const store = this.weak.deref();
    if (!store) throw new HyperslabError("Cancelled", "the store is gone: keep it, or an array in it, until calls are done");
    return store;
  }

  async read(path: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const { store } = this;
    if (store.getRange) return store.getRange(path, { offset: start, length: end - start }, { signal });
    const whole = await store.get(path, { signal });
    return whole?.subarray(start, end);
  }

  async readAll(path: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.store.get(path, { signal });
  }

  async size(path: string, signal: AbortSignal): Promise<number | undefined> {
    if (this.store.getSize) return this.store.getSize(path, { signal });
    return (await this.store.get(path, { signal }))?.byteLength;
  }

  async list(dir: string, signal: AbortSignal): Promise<Child[]> {
    if (!this.store.list) {
      throw new HyperslabError("Unsupported", "the store cannot list; run `hyperslab index` on the array and put its __manifest.json beside it");
    }
    const prefix = dir === "" ? "" : `${dir}/`;
    const children = new Map<string, Child>();
    for await (const entry of await this.store.list(prefix, { signal })) {
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
}

function childOf(prefix: string, { key, size, dir }: StoreEntry): Child | undefined {
  if (!key.startsWith(prefix)) return undefined;
  const [name, ...below] = key.slice(prefix.length).split("/");
  if (!name) return undefined;
  return below.length > 0 || dir ? { name, dir: true } : { name, dir: false, size };
}

function readOnly(): HyperslabError {
  return new HyperslabError("Unsupported", "the store is read only; write to a MemoryStore or a store of your own with `set` and `delete`");
}
