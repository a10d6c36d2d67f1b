// Decides whether an array can be edited: a copy in the page's own storage, or a local folder that the user lets it change.
import { signal } from "@preact/signals";
import { DirectoryStore, type Store } from "hyperslab";
import { isCopy } from "../copies";
import type { Opened } from "../opened";

/** The folders that the page may change, until it is closed. */
const allowed = signal<ReadonlySet<Store>>(new Set());

// A method that TypeScript's DOM library lacks.
type Asked = FileSystemDirectoryHandle & { requestPermission?(options: { mode: "readwrite" }): Promise<PermissionState> };

/** Whether what is open can be changed. Reads a signal. */
export function canEdit({ place }: Opened): boolean {
  return isCopy(place.url) || (place.store !== undefined && allowed.value.has(place.store));
}

/** Whether the user can be asked to let the page change what is open. */
export function canAsk({ place: { store } }: Opened): boolean {
  return store instanceof DirectoryStore && (store.root as Asked).requestPermission !== undefined;
}

/** Asks the user to let the page change a folder. Call it when a button is pressed. */
export async function askToEdit({ place: { store } }: Opened): Promise<void> {
  if (!(store instanceof DirectoryStore)) return;
  const answer = await (store.root as Asked).requestPermission?.({ mode: "readwrite" });
  if (answer !== "granted") throw new Error("The browser did not allow the page to change this folder. Edit a copy on this device instead.");
  allowed.value = new Set([...allowed.peek(), store]);
}
