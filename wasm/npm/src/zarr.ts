import type { CallOptions, OpenOptions, TileArray } from "./array.js";
import { mount } from "./mount.js";
import type { Store } from "./store.js";

/** Bytes of a file: from an offset, or the last ones. */
export type ZarrRange = { offset: number; length: number } | { suffixLength: number };

/** What zarrita reads from; keys start with `/`. */
export interface ZarrStore {
  get(key: `/${string}`, options?: CallOptions): Promise<Uint8Array | undefined>;
  getRange(key: `/${string}`, range: ZarrRange, options?: CallOptions): Promise<Uint8Array | undefined>;
}

/**
 * A dense array as a store for zarrita: a Zarr v3 group with an array for each attribute. Tiles that
 * hold no data are absent, which Zarr takes for the fill value.
 */
export function asZarrita(source: TileArray | string | URL | Store, options: OpenOptions = {}): ZarrStore {
  const files = mount(source, options);
  // What is absent is known before it is read: a file that is lost is a failure and no fill value.
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

/** A description whose fill values of more digits than a double holds are text: JSON.parse would round them, and zarrita reads both. */
function exact(description: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(description);
  return new TextEncoder().encode(text.replace(/("fill_value": *)(-?\d{16,})(?![\d.eE])/g, '$1"$2"'));
}
