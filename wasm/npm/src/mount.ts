import { check } from "./arguments.js";
import { engineOf, OPENING, keyOf, timeRange, storeOf, TileArray, within, type CallOptions, type OpenOptions } from "./array.js";
import { HyperslabError } from "./errors.js";
import { HttpStore } from "./http.js";
import type { Store } from "./store.js";
import type { EngineView } from "./messages.js";

/** A folder, or a file with its size in bytes. */
export type Stat = {
  /** Whether it is a folder. */
  dir: true;
} | {
  /** Whether it is a folder. */
  dir: false;
  /** The size in bytes. */
  size: number;
};

/** A file or a folder in a folder. */
export interface DirEntry {
  /** The last part of its path. */
  name: string;
  /** Whether it is a folder. */
  dir: boolean;
}

/** An array, or a folder of arrays, as files: the tree that `fuse-mount` shows. */
export class Mount {
  private constructor(private readonly store: Store, private readonly raw: () => Promise<EngineView>) {}

  /** @internal */
  static of(store: Store, make: () => Promise<EngineView>): Mount {
    let view: Promise<EngineView> | undefined;
    return new Mount(store, async () => (view ??= make().catch((error: unknown) => {
      view = undefined;
      throw error;
    })));
  }

  /** The bytes of a file, such as `slices/temp@0:100,5:20.npy` or `schema.json`. */
  async readFile(path: string, options: CallOptions & { start?: number; end?: number } = {}): Promise<Uint8Array> {
    check<typeof options>({ path, options }, { start: 1, end: 1, signal: 1 });
    const { start = 0, end = Infinity, signal } = options;
    return within(this.store, signal, async (aborted) => (await this.raw()).read(path, start, end, aborted));
  }

  /** The type and size of a file. `undefined` if it does not exist or its name is invalid; `readFile` then says why. */
  async stat(path: string, options: CallOptions = {}): Promise<Stat | undefined> {
    check<CallOptions>({ path, options }, { signal: 1 });
    try {
      return await this.look(path, options);
    } catch (error) {
      if (error instanceof HyperslabError && error.code === "InvalidArgument") return undefined;
      throw error;
    }
  }

  /** The same, but fails if the name is invalid. @internal */
  async look(path: string, { signal }: CallOptions = {}): Promise<Stat | undefined> {
    const json = await within(this.store, signal, async (aborted) => (await this.raw()).stat(path, aborted));
    return json === undefined ? undefined : JSON.parse(json);
  }

  /** The names in a folder. */
  async readDir(path = "", options: CallOptions = {}): Promise<DirEntry[]> {
    check<CallOptions>({ path, options }, { signal: 1 });
    return JSON.parse(await within(this.store, options.signal, async (aborted) => (await this.raw()).list(path, aborted)));
  }
}

/**
 * Shows an array, or the array or group at a URL or in a store, as files.
 *
 * @example
 * ```js
 * import { mount } from "hyperslab";
 *
 * const files = mount("https://example.org/arrays/elevation");
 * const npy = await files.readFile("slices/elevation@0:10,0:10.npy");
 * console.log(npy.length);
 * ```
 *
 * ```text
 * 328
 * ```
 */
export function mount(source: TileArray | string | URL | Store, options: OpenOptions = {}): Mount {
  check<OpenOptions>({ options }, OPENING);
  if (source instanceof TileArray) return Mount.of(source.store, () => source.raw.view(nameOf(source.path)));
  const store = storeOf(source, options);
  const key = keyOf(options.key);
  const path = options.path ?? "";
  const [start, end] = options.at === undefined ? [0, Infinity] : timeRange(options.at);
  return Mount.of(store, () => engineOf(store, options.pool).view(path, nameOf(path || (store instanceof HttpStore ? store.url : "")), start, end, Date.now(), key));
}

function nameOf(path: string): string {
  return path.split(/[/?#]/).filter(Boolean).at(-1) ?? "array";
}
