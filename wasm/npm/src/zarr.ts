import { storeOf, TileArray, type CallOptions, type OpenOptions } from "./array.js";
import { HyperslabError } from "./errors.js";
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
 * Shows a dense array to zarrita as a Zarr v3 group. It has an array for each attribute whose cells are numbers of a fixed
 * count, an array `NAME_valid` for each nullable one, and the coordinates of each dimension
 * of up to 16,777,216 cells. Tiles without data are missing files, which Zarr reads as the fill value. Reads of several
 * chunks at a time share requests.
 *
 * Reads fail with the code `Unsupported` if the array is sparse, or an attribute has text or variable-length cells; the
 * message says how to read it.
 *
 * @example
 * ```js
 * import * as zarr from "zarrita";
 * import { asZarrita } from "hyperslab";
 *
 * const group = await zarr.open(asZarrita("https://example.org/arrays/elevation"), { kind: "group" });
 * const elevation = await zarr.open(group.resolve("elevation"), { kind: "array" });
 * console.log((await zarr.get(elevation, [zarr.slice(0, 8), 5])).shape);
 * ```
 *
 * ```text
 * [ 8 ]
 * ```
 */
export function asZarrita(source: TileArray | string | URL | Store, options: OpenOptions = {}): ZarrStore {
  const files = mount(source, options);
  // `look` says whether a tile has data. If its file is then lost, the read fails instead of returning the fill value.
  const read = async (key: string, part: (size: number) => [number, number], call: CallOptions = {}) => {
    const path = `zarr${key}`;
    const found = await files.look(path, call);
    if (!found && key.endsWith("/zarr.json")) await explain(source, options, key.split("/").at(-2) ?? "", call);
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

/** Fails if there is such an array or attribute, but Zarr cannot show it. */
async function explain(source: TileArray | string | URL | Store, options: OpenOptions, name: string, { signal }: CallOptions): Promise<void> {
  const array = source instanceof TileArray ? source : await TileArray.open(storeOf(source, options), options.path ?? "", { ...options, signal });
  if (array.kind === "sparse") throw new HyperslabError("Unsupported", "the array is sparse, and zarrita reads dense arrays; use query(array)");
  const attribute = array.attrs.find((attr) => attr.name === name);
  if (!attribute) return;
  const what = attribute.cell === "var" ? "variable-length cells" : `cells of type ${attribute.type}`;
  throw new HyperslabError("Unsupported", `'${name}' has ${what}, and zarrita reads numbers of a fixed count; use get(array, selection, { attrs: ${JSON.stringify(name)} })`);
}

/** Turns long integers of fill values into text, which zarrita reads too. `JSON.parse` would round the numbers. */
function exact(description: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(description);
  return new TextEncoder().encode(text.replace(/("fill_value": *)(-?\d{16,})(?![\d.eE])/g, '$1"$2"'));
}
