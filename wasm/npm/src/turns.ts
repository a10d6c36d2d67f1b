// Orders changes that are made at the same time.
import { call } from "./engine.js";
import { urlOf, waitUntil, writeTimestamp, type TileArray, type Timestamp } from "./array.js";
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

/** By array: the timestamp of the latest change, and the number of changes under way. */
const changes = new Map<string, { latest: Promise<number>; count: number }>();
const numbers = new WeakMap<Store, number>();
let stores = 0;

/**
 * The timestamp of a change: `at`, or now. Without `at`, it is later than those of all commits and of all changes that
 * began earlier and are under way, and the clock has reached it, so that readers see the change. Call `ended` after the
 * commit.
 */
export async function beginChange(array: TileArray, at: Timestamp | undefined): Promise<{ time: number; ended: () => void }> {
  if (at !== undefined) return { time: writeTimestamp(at), ended: () => {} };
  const id = idOf(array);
  const own = changes.get(id) ?? { latest: Promise.resolve(-1), count: 0 };
  changes.set(id, own);
  own.count += 1;
  const ended = () => {
    own.count -= 1;
    if (own.count === 0) changes.delete(id);
  };
  const before = own.latest;
  // Lists at once, but compares in the order of the calls.
  const listed = call(undefined, () => array.raw.writeTime(Date.now()));
  const mine = listed.then(async (time) => Math.max(time, (await before) + 1));
  own.latest = mine.catch(() => before);
  try {
    const time = await mine;
    await waitUntil(time);
    return { time, ended };
  } catch (error) {
    ended();
    throw error;
  }
}

/** Runs a change at its timestamp; see {@link beginChange}. */
export async function change<T>(array: TileArray, at: Timestamp | undefined, work: (time: number) => Promise<T>): Promise<T> {
  const { time, ended } = await beginChange(array, at);
  return work(time).finally(ended);
}

/** A name that is the same for all handles of an array. */
function idOf({ store, path }: TileArray): string {
  const url = urlOf(store);
  if (url) return `${url}/${path}`;
  let number = numbers.get(store);
  if (number === undefined) numbers.set(store, (number = stores += 1));
  return `${number}/${path}`;
}
