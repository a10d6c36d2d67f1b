// The results of writes, and the cells that open arrays show after them; labels and dates.
import assert from "node:assert/strict";
import { test } from "node:test";
import { consolidate, create, createGroup, deleteCells, DirectoryStore, get, HttpStore, MemoryStore, open, put, putMembers, putMeta, query, vacuum, writer } from "hyperslab";
import { both } from "./both.mjs";
import { counted, invalid, line, points } from "./fixtures.mjs";


both("put returns the fragment, and the array shows it", async (pool) => {
  const store = new MemoryStore();
  await create(store, line, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  const fragment = await put(array, [[2, 4]], counted.subarray(2, 5), { at: 7 });
  assert.deepEqual([fragment.start, fragment.end, fragment.dense, fragment.nonEmptyDomain], [7, 7, true, [[2, 4]]]);
  assert.ok(fragment.bytes > 0 && fragment.cells >= 3 && store.has(`__commits/${fragment.name}.wrt`));
  assert.deepEqual(array.fragments(), [fragment]);
  for (const _ of [1, 2]) assert.deepEqual([...(await get(array, [[2, 4]])).data], [2, 3, 4]);
  const later = await put(array, null, counted);
  assert.ok(Math.abs(later.start - Date.now()) < 60_000);
  assert.deepEqual((await get(array)).data, counted);
  // Several writes at a time: whichever ends last, all of them show.
  await Promise.all([0, 1, 2, 3].map((i) => put(array, [[i, i]], Int32Array.of(-i))));
  assert.deepEqual([...(await get(array)).data], [-0, -1, -2, -3, 4, 5, 6, 7, 8, 9].map((n) => n + 0));
  assert.equal(array.fragments().length, 6);
});

test("an array that is open as of a time stays as it is", async () => {
  const store = new MemoryStore();
  await put(await create(store, line, { at: 1 }), null, counted, { at: 5 });
  for (const array of [await open(store, { at: 6 }), await (await open(store)).at(6)]) {
    const { cells } = await put(array, [[0, 0]], Int32Array.of(99));
    assert.ok(cells > 0);
    assert.deepEqual([array.fragments().length, (await get(array)).data[0]], [1, 0]);
  }
  assert.equal((await get(await open(store))).data[0], 99);
});

test("an array shows its deletes, consolidations and vacuums", async () => {
  const array = await create(new MemoryStore(), points, { at: 1 });
  for (const at of [2, 3]) await put(array, null, { x: [at, at + 10], v: [at, at] }, { at });
  await deleteCells(array, "x < 10");
  assert.equal(await query(array).count(), 2);
  const [merged] = await consolidate(array);
  assert.deepEqual(array.fragments().map(({ name }) => name), [merged]);
  await vacuum(array);
  assert.equal(await query(array).count(), 2);
});

both("put takes labels of enumerations", async (pool) => {
  const store = new MemoryStore();
  await create(store, {
    ...line, attrs: [{ name: "kind", type: "uint8", enumeration: "kinds", nullable: true, fill: 0 }],
    enumerations: [{ name: "kinds", type: "string_utf8", values: ["wren", "grüngürtel", ""] }],
  }, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  await put(array, [[0, 4]], ["grüngürtel", null, "", "wren", "wren"], { at: 2 });
  const { columns: { kind } } = await query(array, { ranges: { i: [0, 4] } }).columns();
  assert.deepEqual(Array.from(kind), [1, null, 2, 0, 0]);
  assert.deepEqual(await array.decoded(kind), ["grüngürtel", null, "", "wren", "wren"]);
  await put(array, [[0, 0]], [2], { at: 3 });
  assert.equal((await get(array, [0])).at(), 2);
  const refused = (cells, message) => assert.rejects(put(array, [[0, 1]], cells, { at: 4 }), invalid(message));
  await refused(["wren", "owl"], /'kind': its enumeration 'kinds' has no value 'owl'; add it with evolve\(array, \{ extendEnumerations: \{ "kinds": \["owl"\] \} \}\)/);
  await refused(["wren", 1], /'kind' mixes labels and other values, such as cell 1/);
});

both("put takes dates", async (pool) => {
  const store = new MemoryStore();
  await create(store, {
    type: "sparse",
    dims: [{ name: "day", type: "datetime_day", domain: ["2000-01-01", "2030-01-01"], tile: 100 }],
    attrs: [{ name: "seen", type: "datetime_ms", nullable: true }, { name: "year", type: "datetime_year" }],
  }, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  const seen = new Date("2020-03-01T12:30:00.250Z");
  await put(array, null, { day: ["2020-03-01", "2020-03-02T10:00"], seen: [seen, null], year: [seen, "1970"] }, { at: 2 });
  await put(array, null, { day: [11_000n], seen: BigInt64Array.of(5n), year: ["1971"] }, { at: 3 });
  const { columns } = await query(array, { order: "row" }).columns();
  assert.deepEqual(Array.from(columns.day), [11_000n, 18_322n, 18_323n]);
  assert.deepEqual(Array.from(columns.seen), [5n, BigInt(seen.getTime()), null]);
  assert.deepEqual(Array.from(columns.year), [1n, 50n, 0n]);
  const refused = (day, message) => assert.rejects(put(array, null, { day, seen: [null], year: ["1970"] }, { at: 4 }), invalid(message));
  await refused(["yesterday"], /'day': 'yesterday' is not a date/);
  await refused([new Date(NaN)], /'day': cell 0 is an invalid Date/);
  await refused([Symbol.iterator], /'day'/);
});

/** A store whose reads fail after a commit. */
class Cut extends MemoryStore {
  isCut = false;

  set(key, ...rest) {
    this.isCut ||= key.startsWith("__commits/") && !key.startsWith("__commits/__1_1_");
    return super.set(key, ...rest);
  }

  list(prefix) {
    if (this.isCut) throw new Error("the line is cut");
    return super.list(prefix);
  }
}

both("if the array cannot be read after a write, the error says that the fragment was written", async (pool) => {
  for (const write of [put, async (array, box, cells) => {
    const out = await writer(array);
    await out.write(cells);
    return out.close();
  }]) {
    const store = new Cut();
    await create(store, line, { at: 1 });
    const array = await open(store, { ...(pool ? { pool } : {}) });
    const error = await write(array, null, counted).then(assert.fail, (error) => error);
    store.isCut = false;
    const [{ name }] = (await open(store)).fragments();
    assert.ok(error.message.startsWith(`the array was changed by the fragment ${name}, so do not repeat the call, but reading it again failed: `), error.message);
    assert.match(error.message, /the line is cut; open the array again$/);
  }
});

test("changes in a read-only store are refused before it is read", async () => {
  let requests = 0;
  const fetch = async () => { requests += 1; return new Response("", { status: 404 }); };
  const secret = new HttpStore("https://user:pass@example.org/a?token=1", { fetch });
  const web = "https://example.org/a";
  for (const change of [(store) => create(store, line), createGroup, (store) => putMeta(store, { x: 1 }), (store) => putMembers(store, { x: "x" })]) {
    for (const store of [secret, web]) {
      await assert.rejects(change(store), (e) => e.code === "Unsupported" && /^https:\/\/[^ ]*: HTTP servers are read-only; use a store with `set` and `delete`/.test(e.message) && !/pass|token=1/.test(e.message));
    }
    await assert.rejects(change({ get: () => { requests += 1; } }), (e) => e.code === "Unsupported" && /^the store is read-only/.test(e.message));
  }
  assert.equal(requests, 0);
});

test("errors about an array at the root of a store name the store", async () => {
  const array = await create(new MemoryStore(), line);
  await assert.rejects(array.enumeration("species"), (e) => e.code === "NotFound" && /^the store: there is no enumeration 'species'/.test(e.message));
});

test("a browser whose folders cannot be written says so, and leaves no file", async () => {
  const files = new Set();
  const missing = () => { throw new DOMException("", "NotFoundError"); };
  const root = {
    getFileHandle: async (name, { create } = {}) => (create ? (files.add(name), { name }) : missing()),
    getDirectoryHandle: async () => root,
    removeEntry: async (name) => void files.delete(name),
    entries: async function* () {},
    [Symbol.asyncIterator]: async function* () {},
  };
  await assert.rejects(create(new DirectoryStore(root), line), (e) => e.code === "Unsupported" && /this browser cannot write files to folders.*MemoryStore/.test(e.message));
  assert.deepEqual([...files], []);
});
