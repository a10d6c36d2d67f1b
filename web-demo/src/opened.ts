// Opens what a place holds: an array or a group, with the description of what it means.
import { describe, HttpStore, open, type Dataset, type Group, type Store, type TileArray } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { isCopy, storeOfCopy } from "./copies";
import { recordRequest } from "./traffic";

/** Decodes in workers, so that the page stays responsive. */
const pool = new Pool();

/** Where an array or a group is: below a URL, or below a folder or storage of this device. */
export interface Place {
  /** The URL; for a store of this device, a name to show. */
  readonly url: string;
  /** A folder that was dropped or picked, or one of the page's own storage. Absent for URLs. */
  readonly store?: Store;
  /** The path below the URL or the store. Empty for their root. */
  readonly path: string;
}

/** An open array or group. */
export interface Opened {
  readonly place: Place;
  readonly store: Store;
  /** The time as of which it was opened, in milliseconds since 1970. `undefined`: the newest. */
  readonly at: number | undefined;
  readonly source: TileArray | Group;
  /** What it means. */
  readonly dataset: Dataset;
}

/** Opens the array or the group at a place, as of a time, and describes it. */
export async function openPlace(place: Place, at?: number): Promise<Opened> {
  const store = place.store ?? await storeAt(place.url);
  const source = await open(store, { pool, at: at ?? Date.now(), path: place.path, kind: "any" });
  return { place, store, at, source, dataset: await describe(source) };
}

/** Opens the array that a description names by a path relative to `from`, such as `obs` or `../lat`. */
export async function openArray(from: Opened, path: string): Promise<TileArray> {
  const place = placeAt(from.place, path);
  const store = place.url === from.place.url ? from.store : await storeAt(place.url);
  return open(store, { pool, at: from.at ?? Date.now(), path: place.path });
}

/** The store at a URL, or of a copy on this device. */
async function storeAt(url: string): Promise<Store> {
  return isCopy(url) ? storeOfCopy(url) : new HttpStore(urlOf(url), { onRequest: recordRequest });
}

/** The place at a path relative to another place. */
export function placeAt(place: Place, path: string): Place {
  const parts = place.path.split("/").filter(Boolean);
  let { url } = place;
  for (const part of path.split("/").filter(Boolean)) {
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined && !place.store && !isCopy(url)) url = url.replace(/\/+$/, "").replace(/\/[^/]*$/, "");
  }
  return { ...place, url, path: parts.join("/") };
}

/** The place of an address that was entered or linked. That of a copy may go on with the path of a member, as in `opfs:cells/obs`. */
export function placeOfAddress(address: string): Place {
  const [url = "", ...path] = isCopy(address) ? address.split("/") : [address];
  return { url, path: path.filter(Boolean).join("/") };
}

/** The address to show and to put into links. */
export function addressOf({ url, path }: Place): string {
  return path ? `${url.replace(/\/$/, "")}/${path}` : url;
}

/** The absolute address, for other programs; the name of a store of this device. */
export function absoluteOf(place: Place): string {
  return place.store || isCopy(place.url) ? addressOf(place) : urlOf(addressOf(place));
}

/** The absolute URL of an entered or linked one. */
function urlOf(text: string): string {
  try {
    return new URL(text, location.href).href;
  } catch {
    throw new Error(`${text} is not a URL. Enter one such as https://example.org/arrays/elevation`);
  }
}

/** The array that was opened; `undefined` if it is a group. */
export function arrayOf({ source }: Opened): TileArray | undefined {
  return source.kind === "group" ? undefined : source;
}

/** The group that was opened; `undefined` if it is an array. */
export function groupOf({ source }: Opened): Group | undefined {
  return source.kind === "group" ? source : undefined;
}
