// Copies of arrays and groups in the page's own storage on this device, which can be edited.
import { signal } from "@preact/signals";
import { copy, OpfsStore, type Store } from "hyperslab";
import { addressOf, type Opened, type Place } from "./opened";

/** The folder of the copies in the page's storage, and what their addresses begin with. */
const FOLDER = "hyperslab";
const SCHEME = "opfs:";

/** Whether this is the address of a copy on this device. */
export function isCopy(url: string): boolean {
  return url.startsWith(SCHEME);
}

/** The name of a copy. */
export function nameOfCopy(url: string): string {
  return url.slice(SCHEME.length);
}

/** The store of a copy. */
export async function storeOfCopy(url: string): Promise<Store> {
  const name = nameOfCopy(url);
  if (!(await names()).includes(name)) throw new Error(`There is no copy named ${name} on this device. Copies stay in the browser that made them.`);
  return OpfsStore.open(`${FOLDER}/${name}`);
}

/** The root of the page's storage. WebKit on Linux gives pages none. */
async function storage(): Promise<FileSystemDirectoryHandle> {
  const { storage } = navigator as { storage?: Partial<StorageManager> };
  if (storage?.getDirectory) return storage.getDirectory();
  throw new Error("This browser gives pages no storage for copies. Use another browser, or copy the array with `hyperslab copy`.");
}

/** Copies what is open, and returns the place of the copy. */
export async function makeCopy({ store, place }: Opened, onProgress: (text: string) => void): Promise<Place> {
  return navigator.locks.request("hyperslab copies", async () => {
  const base = addressOf(place).split(/[/:]/).filter(Boolean).at(-1)?.replace(/[^\p{L}\p{N}._-]/gu, "_") ?? "array";
  const taken = await names();
  let name = base;
  for (let i = 2; taken.includes(name); i += 1) name = `${base}-${i}`;
  const to = await OpfsStore.open(`${FOLDER}/${name}`);
  try {
    await copy(store, to, { path: place.path, onProgress: ({ files, of }) => onProgress(`${files} of ${of} files`) });
  } catch (error) {
    await removeCopy(`${SCHEME}${name}`);
    throw error;
  }
  await listCopies();
  return { url: `${SCHEME}${name}`, path: place.path };
  });
}

/** The addresses of all copies on this device. */
export const copies = signal<readonly string[]>([]);

/** Updates the list of copies. */
export async function listCopies(): Promise<void> {
  copies.value = (await names()).map((name) => `${SCHEME}${name}`);
}

/** Deletes a copy. */
export async function removeCopy(url: string): Promise<void> {
  const folder = await (await storage()).getDirectoryHandle(FOLDER);
  await folder.removeEntry(nameOfCopy(url), { recursive: true });
  await listCopies();
}

/** The names of the copies. */
async function names(): Promise<string[]> {
  const root = await storage();
  const folder = await root.getDirectoryHandle(FOLDER).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "NotFoundError") return undefined;
    throw error;
  });
  const found: string[] = [];
  if (folder) for await (const name of (folder as unknown as { keys(): AsyncIterable<string> }).keys()) found.push(name);
  return found.sort();
}
