// Orders changes that are made at the same time.
import { DirectoryStore } from "./directory.js";
import type { Store } from "./store.js";

/** The last work on each store. */
const turns = new WeakMap<object, Promise<unknown>>();
/** Several stores may have the same folder, so all folders take turns together. */
const folders = {};

/** Runs `work` after earlier work on the store, also that of other tabs. Creating is check, then write: overlapping calls would all find the path free. */
export async function inTurn<T>(store: Store, work: () => Promise<T>): Promise<T> {
  const { locks } = globalThis.navigator ?? {};
  if (store instanceof DirectoryStore && locks) return locks.request("hyperslab create", work) as Promise<T>;
  const queue = "root" in store ? folders : store;
  const mine = (turns.get(queue) ?? Promise.resolve()).then(work);
  turns.set(queue, mine.catch(() => {}));
  return mine;
}
