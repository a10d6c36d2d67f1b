import type { CallOptions, OpenOptions, TileArray } from "./array.js";
import { mount } from "./mount.js";
import type { Store } from "./store.js";

/** A byte range from an offset, or the last bytes of a file. */
export type ZarrRange = {
  /** The first byte. */
  offset: number;
  /** The number of bytes. */
  length: number;
} | {
  /** The number of bytes at the end of the file. */
  suffixLength: number;
};

/** A store for zarrita. Keys start with `/`. */
export interface ZarrStore {
  /** The bytes of a file. `undefined` if it does not exist. */
  get(key: `/${string}`, options?: CallOptions): Promise<Uint8Array | undefined>;
  /** A part of a file. */
  getRange(key: `/${string}`, range: ZarrRange, options?: CallOptions): Promise<Uint8Array | undefined>;
}

/**
 * Shows a dense array to zarrita as a Zarr v3 group with an array for each attribute. Tiles without data are missing
 * files, which Zarr reads as the fill value.
 */
export function asZarrita(source: TileArray | string | URL | Store, options: OpenOptions = {}): ZarrStore {
  const files = mount(source, options);
  // `look` says whether a tile has data. If its file is then lost, the read fails instead of returning the fill value.
  const read = async (key: string, part: (size: number) => [number, number], call: CallOptions = {}) => {
    const path = `zarr${key}`;
    const found = await files.look(path, call);
    if (!found || found.dir) return undefined;
    const [start, end] = part(found.size);
    const bytes = await files.readFile(path, { start, end, ...call });
    return key.endsWith("zarr.json") && start === 0 && end === found.size ? exact(bytes) : bytes;
  };
  return {
    get: (key, call) => read(key, (size) => [0, size], call),
    getRange: (key, range, call) =>
      read(key, (size) => ("offset" in range ? [range.offset, range.offset + range.length] : [Math.max(0, size - range.suffixLength), size]), call),
  };
}

/** Turns long integers of fill values into text, which zarrita reads too. `JSON.parse` would round the numbers. */
function exact(description: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(description);
  return new TextEncoder().encode(text.replace(/("fill_value": *)(-?\d{16,})(?![\d.eE])/g, '$1"$2"'));
}
