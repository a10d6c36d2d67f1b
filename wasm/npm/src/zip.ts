/**
 * Reads arrays in zip files, and exports them. A module of its own, because it contains the libraries that read and write
 * zip files.
 *
 * @module hyperslab/zip
 */
import { makeZip } from "client-zip";
import { unzipRaw, type Reader, type ZipEntry } from "unzipit";
import { check, shown } from "./arguments.js";
import type { CallOptions, TileArray } from "./array.js";
import { keysBelow } from "./copy.js";
import { HyperslabError } from "./errors.js";
import { absolute, HttpStore, type HttpOptions } from "./http.js";
import { RangeCache } from "./ranges.js";
import type { Store, StoreEntry, StoreOptions } from "./store.js";
import { streamOf } from "./stream.js";

/** The size of the cache of decompressed files, and the maximum size of one. */
const CACHE_BYTES = 64 * 2 ** 20;
const FILE_BYTES_MAX = 256 * 2 ** 20;
/** The size of the parts in which large files are exported. */
const PART_BYTES = 8 * 2 ** 20;
/** Bytes of the header before each file, without its name and its extra field. */
const HEADER_BYTES = 30;
const STORED = 0;

/** What `unzipit` knows of a file and does not show. */
interface Located { _rawEntry: { relativeOffsetOfLocalHeader: number } }

/**
 * The files in a zip file, read-only: `await open(await ZipStore.open("https://example.org/elevation.zip"))`. Files that
 * are stored without compression are read by ranges; compressed files are read whole. Zip64 is supported, encrypted
 * files are not.
 */
export class ZipStore implements Store {
  private readonly cache = new RangeCache(CACHE_BYTES);
  private readonly starts = new Map<string, Promise<number>>();

  private constructor(private readonly reader: Reader, private readonly entries: ReadonlyMap<string, ZipEntry>) {}

  /** Opens a zip file at a URL, in a `Blob` such as a chosen file, or in memory. `http` is for URLs. */
  static async open(source: string | URL | Blob | Uint8Array, http: HttpOptions = {}): Promise<ZipStore> {
    check({ http });
    const reader = readerOf(source, http);
    const { entries } = await unzipRaw(reader).catch((error: unknown) => {
      if (error instanceof HyperslabError) throw error;
      throw new HyperslabError("Corrupt", `this is not a zip file, or it is damaged: ${(error as Error).message}`, { cause: error });
    });
    const files = entries.filter(({ isDirectory }) => !isDirectory);
    return new ZipStore(reader, new Map(files.map((entry) => [entry.name.replaceAll("\\", "/").replace(/^(\.?\/)+/, ""), entry])));
  }

  /** Reads a file. `undefined` if it does not exist. */
  async get(key: string): Promise<Uint8Array | undefined> {
    const entry = this.entries.get(key);
    return entry && this.bytes(key, entry, 0, entry.size);
  }

  /** Reads a part of a file. */
  async getRange(key: string, { offset, length }: { offset: number; length: number }): Promise<Uint8Array | undefined> {
    const entry = this.entries.get(key);
    return entry && this.bytes(key, entry, offset, Math.min(offset + length, entry.size));
  }

  /** The size of a file in bytes. */
  getSize(key: string): number | undefined {
    return this.entries.get(key)?.size;
  }

  /** Lists the files whose keys start with `prefix`. */
  *list(prefix: string): Generator<StoreEntry> {
    for (const [key, { size }] of this.entries) if (key.startsWith(prefix)) yield { key, size };
  }

  private async bytes(key: string, entry: ZipEntry, start: number, end: number): Promise<Uint8Array> {
    if (entry.encrypted) throw new HyperslabError("Unsupported", `${key}: the file is encrypted in the zip file; extract it`);
    if (start >= end) return new Uint8Array();
    if (entry.compressionMethod === STORED) return this.reader.read((await this.startOf(key, entry)) + start, end - start);
    const held = this.cache.get(key, start, end);
    if (held) return held;
    if (entry.size > FILE_BYTES_MAX) {
      throw new HyperslabError("LimitExceeded", `${key}: compressed files of a zip file are read up to ${FILE_BYTES_MAX} bytes, and this has ${entry.size}; store it without compression (zip -0)`);
    }
    const whole = new Uint8Array(await entry.arrayBuffer().catch((error: unknown) => {
      throw error instanceof HyperslabError ? error : damaged(key, (error as Error).message);
    }));
    if (whole.length !== entry.size) throw damaged(key, `it has ${whole.length} bytes instead of ${entry.size}`);
    this.cache.put(key, 0, whole, true);
    return whole.subarray(start, end);
  }

  /** Where the bytes of a file start. */
  private async startOf(key: string, entry: ZipEntry): Promise<number> {
    const known = this.starts.get(key) ?? this.readStart(key, (entry as unknown as Located)._rawEntry.relativeOffsetOfLocalHeader);
    this.starts.set(key, known);
    known.catch(() => this.starts.delete(key));
    return known;
  }

  private async readStart(key: string, at: number): Promise<number> {
    const { buffer, byteOffset, byteLength } = await this.reader.read(at, HEADER_BYTES);
    const header = new DataView(buffer, byteOffset, byteLength);
    if (byteLength < HEADER_BYTES || header.getUint32(0, true) !== 0x04034b50) throw damaged(key, "its header is missing");
    return at + HEADER_BYTES + header.getUint16(26, true) + header.getUint16(28, true);
  }
}

function damaged(key: string, why: string): HyperslabError {
  return new HyperslabError("Corrupt", `${key}: the zip file is damaged: ${why}`);
}

function readerOf(source: string | URL | Blob | Uint8Array, http: HttpOptions): Reader {
  if (source instanceof Blob) {
    return { getLength: async () => source.size, read: async (at, size) => new Uint8Array(await source.slice(at, at + size).arrayBuffer()) };
  }
  if (typeof source === "string" || source instanceof URL) return httpReader(absolute(source), http);
  if (ArrayBuffer.isView(source)) return { getLength: async () => source.length, read: async (at, size) => source.slice(at, at + size) };
  throw new HyperslabError("InvalidArgument", `give the URL of a zip file, a Blob or a Uint8Array, not ${shown(source)}`);
}

function httpReader(url: URL, http: HttpOptions): Reader {
  const folder = new URL(".", url);
  folder.search = url.search;
  const store = new HttpStore(folder, http);
  const name = decodeURIComponent(url.pathname.slice(folder.pathname.length));
  const found = <T>(value: T | undefined): T => {
    if (value !== undefined) return value;
    throw new HyperslabError("NotFound", `${url.origin}${url.pathname}: there is no such file; check the URL`);
  };
  return {
    getLength: async () => found(await store.getSize(name)),
    read: async (offset, length) => found(await store.getRange(name, { offset, length })) as Uint8Array<ArrayBuffer>,
  };
}

/**
 * The files of an array, or of everything below `path` in a store, as a zip file. They are not compressed again, so that
 * {@link ZipStore} reads them by ranges. Files are read as the stream is consumed, large ones in parts. If a file is
 * removed meanwhile, the stream fails.
 *
 * @example
 * ```js
 * import { create, get, MemoryStore, open, put } from "hyperslab";
 * import { exportZip, ZipStore } from "hyperslab/zip";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "dense",
 *   dims: [{ name: "x", type: "int32", domain: [0, 9] }],
 *   attrs: [{ name: "a", type: "int32" }],
 * });
 * await put(array, null, new Int32Array(10).fill(7));
 * const file = await new Response(exportZip(array)).blob();
 * const { data } = await get(await open(await ZipStore.open(file)));
 * ```
 */
export function exportZip(source: TileArray | Store, options: CallOptions & { path?: string } = {}): ReadableStream<Uint8Array> {
  check<CallOptions & { path: string }>({ source, options }, { path: 1, signal: 1 });
  const [store, path] = "raw" in source ? [source.store, source.path] : [source, options.path ?? ""];
  const prefix = path.replace(/^\/+|\/+$/g, "").replace(/.$/, "$&/");
  const zip = makeZip(filesOf(store, prefix, options.signal)).getReader();
  // The library throws the reason for which it is cancelled.
  return streamOf(async () => zip.read(), async () => zip.cancel().catch(() => {}));
}

async function* filesOf(store: Store, prefix: string, signal: AbortSignal | undefined): AsyncGenerator<{ name: string; input: AsyncGenerator<Uint8Array> }> {
  const keys = await keysBelow(store, prefix, signal);
  if (keys.length === 0) throw new HyperslabError("NotFound", `there are no files to export in '${prefix}'; check the path`);
  for (const key of keys) yield { name: key.slice(prefix.length), input: partsOf(store, key, { signal }) };
}

async function* partsOf(store: Store, key: string, options: StoreOptions): AsyncGenerator<Uint8Array> {
  const present = (bytes: Uint8Array | undefined) => {
    options.signal?.throwIfAborted();
    if (bytes) return bytes;
    throw new HyperslabError("NotFound", `${key}: the file was removed during the export; export again`);
  };
  const size = store.getRange ? ((await store.getSize?.(key, options)) ?? 0) : 0;
  if (size <= PART_BYTES || !store.getRange) return yield present(await store.get(key, options));
  for (let offset = 0; offset < size; offset += PART_BYTES) yield present(await store.getRange(key, { offset, length: Math.min(PART_BYTES, size - offset) }, options));
}
