// Reads in workers give the same results as reads in this thread.
import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { test } from "node:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asZarrita, consolidate, create, get, HttpStore, MemoryStore, mount, open, put, query, vacuum } from "hyperslab";
import { Pool, provideWorkers } from "hyperslab/pool";
import { SingleFlight } from "../dist/ranges.js";
import { serve } from "./serve.mjs";
import { gate, turn, until } from "./wait.mjs";

const dims = [{ name: "y", type: "int32", domain: [0, 99], tile: 10 }, { name: "x", type: "int32", domain: [0, 99], tile: 10 }];
const filters = ["byteshuffle", "zstd"];

/** A dense and a sparse array in one store. */
async function arrays() {
  const store = new MemoryStore();
  const dense = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "int32", filters }, { name: "b", type: "float64", nullable: true }] }, { path: "dense", at: 1 });
  const cells = Int32Array.from({ length: 10_000 }, (_, i) => i);
  await put(dense, null, { a: cells, b: { values: Float64Array.from(cells), validity: Uint8Array.from(cells, (v) => v % 2) } }, { at: 2 });
  await put(dense, [[0, 9], [0, 9]], { a: new Int32Array(100), b: { values: new Float64Array(100), validity: new Uint8Array(100) } }, { at: 3 });
  const sparse = await create(store, { type: "sparse", dims, attrs: [{ name: "t", type: "string_utf8", cell: "var" }], capacity: 7 }, { path: "sparse", at: 1 });
  const xs = Int32Array.from({ length: 100 }, (_, i) => i);
  await put(sparse, null, { y: xs, x: xs, t: Array.from(xs, (v) => "é".repeat(v % 5)) }, { at: 2 });
  return store;
}

/** Runs `work` with a pool, and closes it. */
async function pooled(work, options) {
  const pool = new Pool(options);
  try {
    return await work(pool);
  } finally {
    pool.close();
  }
}

test("a worker with much memory is stopped when it is idle, and started again", async () => {
  let workers = 0;
  const hook = createHook({ init: (_, type) => { if (type === "WORKER") workers += 1; } }).enable();
  await pooled(async (pool) => {
    const array = await open(await arrays(), { path: "dense", pool });
    for (let i = 0; i < 3; i += 1) assert.equal((await get(array, [50, 6], { attrs: "a" })).data[0], 5006);
    assert.equal(workers, 4);
    // A running query keeps its worker.
    let cells = 0;
    for await (const { length } of query(array, { batchBytes: 2 ** 12 })) cells += length;
    assert.deepEqual([cells, workers], [10_000, 5]);
  }, { workers: 1, memoryBytes: 1 });
  hook.disable();
});

test("a pool reads the same cells", async () => {
  const store = await arrays();
  await pooled(async (pool) => {
    for (const path of ["dense", "sparse"]) {
      const [here, there] = [await open(store, { path }), await open(store, { path, pool })];
      assert.deepEqual([there.schema, there.dims, there.attrs, there.fragments(), there.times(), there.nonEmptyDomain()], [here.schema, here.dims, here.attrs, here.fragments(), here.times(), here.nonEmptyDomain()]);
      const wants = { ranges: { y: [3, 60], x: [0, 40] }, attrs: ["x", path === "dense" ? "b" : "t"] };
      const [a, b] = [await query(here, wants).columns(), await query(there, wants).columns()];
      assert.ok(a.length > 20);
      assert.deepEqual(b, a);
      assert.equal(await query(there, wants).count(), a.length);
      const batches = [];
      for await (const batch of query(there, { ...wants, batchBytes: 100 })) batches.push(...batch.columns.x.values);
      assert.deepEqual(batches, [...a.columns.x.values]);
      assert.deepEqual(await mount(there).readDir("slices"), await mount(here).readDir("slices"));
      assert.deepEqual(await mount(there).readFile("schema.json"), await mount(here).readFile("schema.json"));
    }
    const [here, there] = [await open(store, { path: "dense" }), await open(store, { path: "dense", pool })];
    const boxes = Array.from({ length: 40 }, (_, i) => [[i, i + 30], [2 * i, 2 * i + 11]]);
    const found = await Promise.all(boxes.map((box) => get(there, box, { attrs: ["a", "b"] })));
    const told = ({ data, shape, stride, validity }) => ({ data, shape, stride, validity });
    for (const [i, box] of boxes.entries()) {
      const expected = await get(here, box, { attrs: ["a", "b"] });
      for (const name of ["a", "b"]) assert.deepEqual(told(found[i][name]), told(expected[name]));
    }
    const past = await there.at(2);
    assert.deepEqual((await get(past, [0, [0, 3]], { attrs: "a" })).data, Int32Array.of(0, 1, 2, 3));
    assert.deepEqual((await get(there, [0, [0, 3]], { attrs: "a" })).data, Int32Array.of(0, 0, 0, 0));
    const out = new Int32Array(4);
    assert.equal((await get(past, [1, [0, 3]], { attrs: "a", out })).data, out);
    assert.deepEqual(out, Int32Array.of(100, 101, 102, 103));
    await assert.rejects(get(past, [1, [0, 4]], { attrs: "a", out }), (e) => e.code === "InvalidArgument" && /has 20 bytes in this box, but 'out' has 16/.test(e.message));
  }, { workers: 3 });
});

test("a pool reads local files, and does not transfer Node's shared buffers", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hyperslab-"));
  const array = await create(folder, { type: "dense", dims, attrs: [{ name: "a", type: "int32", filters }] }, { at: 1 });
  const cells = Int32Array.from({ length: 10_000 }, (_, i) => i);
  await put(array, null, cells);
  await pooled(async (pool) => {
    assert.deepEqual((await get(await open(folder, { pool }))).data, cells);
    // Small Buffers are views of a shared buffer of Node.
    const files = await arrays();
    const store = { get: (key) => files.has(key) ? Buffer.from(files.get(key)) : undefined, list: (prefix) => files.list(prefix) };
    const mine = Buffer.from("mine");
    assert.deepEqual((await get(await open(store, { path: "dense", pool }), [20, [0, 3]], { attrs: "a" })).data, Int32Array.of(2000, 2001, 2002, 2003));
    assert.equal(mine.toString(), "mine");
  }, { workers: 2 });
  await rm(folder, { recursive: true });
});

test("concurrent calls are spread over the workers", async () => {
  const store = await arrays();
  await pooled(async (pool) => {
    const array = await open(store, { path: "dense", pool });
    const busy = new Set();
    for (const lane of pool.workers) {
      const call = lane.call.bind(lane);
      lane.call = (what, ...rest) => (what.method === "get" && busy.add(lane), call(what, ...rest));
    }
    await Promise.all([0, 1, 2].map((y) => get(array, [[y, y], [0, 99]], { attrs: "a" })));
    assert.equal(busy.size, 3);
  }, { workers: 3 });
});

test("a write through a pool is visible when the array is opened again", async () => {
  const store = await arrays();
  await pooled(async (pool) => {
    const array = await open(store, { path: "dense", pool });
    for (let i = 1; i <= 10; i += 1) {
      await put(array, [[0, 0], [0, 0]], { a: Int32Array.of(i), b: { values: Float64Array.of(i), validity: Uint8Array.of(1) } });
      const now = await open(store, { path: "dense", pool, at: Infinity });
      assert.equal((await get(now, [0, 0], { attrs: "b" })).at(), i);
    }
  }, { workers: 2 });
});

test("opening an array reads every file once, for any number of workers", async () => {
  const files = new Map([...(await arrays())].map(([key, bytes]) => [key, bytes]));
  const requests = async (workers) => {
    const server = await serve(files);
    const asked = [];
    const read = async (pool) => {
      const store = new HttpStore(`${server.url}/dense`, { onRequest: ({ url }) => asked.push(new URL(url).pathname) });
      const array = await open(store, pool ? { pool } : {});
      return get(array, [[0, 99], [0, 99]], { attrs: "a" });
    };
    const chunk = workers === 0 ? await read() : await pooled(read, { workers });
    await server.close();
    assert.equal(chunk.at(5, 5), 0);
    return asked.sort();
  };
  const alone = await requests(0);
  assert.ok(alone.length > 5);
  assert.deepEqual(await requests(3), alone);
});

test("errors from workers keep their code", async () => {
  const store = await arrays();
  await pooled(async (pool) => {
    await assert.rejects(open(store, { path: "nothing", pool }), (e) => e.name === "HyperslabError" && e.code === "NotFound");
    const array = await open(store, { path: "dense", pool });
    await assert.rejects(get(array, [[0, 200], [0, 1]], { attrs: "a" }), (e) => e.code === "InvalidArgument");
    await assert.rejects(query(array, { where: "nothing > 3" }).columns(), (e) => e.code === "InvalidArgument" && /nothing/.test(e.message));
    const reason = new Error("enough");
    await assert.rejects(get(array, null, { attrs: "a", signal: AbortSignal.abort(reason) }), reason);
    const controller = new AbortController();
    const read = get(array, null, { attrs: "a", signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(read, reason);
    assert.equal((await get(array, [99, 99], { attrs: "a" })).at(), 9999);
  });
  for (const workers of [0, -1, 1.5, NaN]) assert.throws(() => new Pool({ workers }), (e) => e.code === "InvalidArgument");
});

test("one caller's abort does not affect other reads, even while the array is opened again", async () => {
  await pooled(async (pool) => {
    for (const options of [{}, { pool }]) {
      const files = await arrays();
      const asked = [];
      /** If set, responses wait for this gate; an abort ends the wait. */
      let held;
      const pass = async (key, signal) => {
        asked.push(key);
        const aborted = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
        aborted.catch(() => {});
        await (held && Promise.race([held.opened, aborted]));
      };
      const store = {
        get: async (key, { signal } = {}) => (await pass(key, signal), files.get(key)),
        getRange: async (key, { offset, length }, { signal } = {}) => (await pass(key, signal), files.get(key)?.subarray(offset, offset + length)),
        getSize: (key) => files.get(key)?.length,
        list: async (prefix, { signal } = {}) => (await pass(`list ${prefix}`, signal), files.list(prefix)),
      };
      const array = await open(store, { path: "dense", ...options });
      const sees = async (what) => assert.ok(await until(() => asked.some((key) => what.test(key))), `${what} is not requested`);
      held = gate();
      asked.length = 0;
      const later = array.at(Infinity);
      await sees(/^list/);
      const controller = new AbortController();
      const box = [[20, 29], [0, 9]];
      const first = get(array, box, { attrs: "a", signal: controller.signal });
      const second = get(array, box, { attrs: "a" });
      await sees(/^dense\/__fragments\//);
      await turn();
      controller.abort(new Error("enough"));
      await assert.rejects(first, /enough/);
      await turn();
      held.open();
      assert.equal((await second).at(0, 1), 2001);
      assert.equal((await later).kind, "dense");
    }
  }, { workers: 2 });
});

test("a mount of an open array does not change with later writes", async () => {
  await pooled(async (pool) => {
    for (const options of [{}, { pool }]) {
      const store = new MemoryStore();
      const x = { name: "x", type: "int32", domain: [0, 1], tile: 2 };
      const made = await create(store, { type: "dense", dims: [x], attrs: [{ name: "a", type: "int32" }] }, { at: 1 });
      await put(made, null, Int32Array.of(1, 2), { at: 5 });
      const open5 = () => open(store, { at: 9, ...options });
      const [seen, unseen] = [await open5(), await open5()];
      const [files, others] = [mount(seen), mount(unseen)];
      const shown = async (files) => [...new Int32Array((await files.readFile("slices/a@0:2.bin")).buffer)];
      await put(made, null, Int32Array.of(7, 8), { at: 7 });
      assert.deepEqual([await shown(files), await shown(mount(seen))], [[1, 2], [1, 2]]);
      assert.deepEqual(await shown(mount(await open5())), [7, 8]);
      const now = await open(store);
      await consolidate(now);
      await vacuum(now);
      // Other bytes than those that are kept.
      await assert.rejects(others.readFile("slices/a@1:2.bin"), { code: "NotFound" });
      await assert.rejects(asZarrita(unseen).get("/a/c/0"), { code: "NotFound" });
    }
  }, { workers: 2 });
});

test("with `keeps`, results are kept, but neither errors nor aborted requests", async () => {
  const [kept, passing] = [new SingleFlight(true), new SingleFlight()];
  let asked = 0;
  const next = async () => (asked += 1);
  assert.deepEqual([await kept.join("a", undefined, next), await kept.join("a", undefined, next)], [1, 1]);
  assert.deepEqual([await passing.join("a", undefined, next), await passing.join("a", undefined, next)], [2, 3]);
  await assert.rejects(kept.join("b", undefined, async () => { throw new Error("lost"); }), /lost/);
  assert.equal(await kept.join("b", undefined, next), 4);
  const [one, other, both] = [new AbortController(), new AbortController(), []];
  const slow = (signal) => new Promise((resolve, reject) => { both.push(resolve); signal.addEventListener("abort", () => reject(signal.reason)); });
  const waiting = [one, other].map(({ signal }) => kept.join("c", signal, slow));
  one.abort(new Error("enough"));
  await assert.rejects(waiting[0], /enough/);
  both[0]("c");
  assert.equal(await waiting[1], "c");
  const last = new AbortController();
  const left = kept.join("d", last.signal, slow);
  last.abort(new Error("enough"));
  await assert.rejects(left, /enough/);
  assert.equal(await kept.join("d", undefined, next), 5);
});

test("calls of a closed pool fail with a clear error", async () => {
  const store = await arrays();
  const pool = new Pool({ workers: 2 });
  const array = await open(store, { path: "dense", pool });
  const read = get(array, null, { attrs: "a" });
  pool.close();
  await assert.rejects(read, (e) => e.code === "Cancelled");
  await assert.rejects(get(array, null, { attrs: "a" }), (e) => e.code === "Cancelled" && /closed/.test(e.message));
  await assert.rejects(open(store, { path: "dense", pool }), (e) => e.code === "Cancelled");
});

test("a failed worker is reported and started again", async () => {
  const store = await arrays();
  const [failing, asked] = [[], []];
  let starts = 0;
  provideWorkers((hear, fail) => {
    starts += 1;
    failing.push(fail);
    if (starts === 1) queueMicrotask(() => fail(new Error("no such file")));
    return { post: ({ type, id }) => { asked.push(type); if (type === "call" && starts > 2) hear({ type: "done", id, value: { dims: "[]", attrs: "[]", schema: '{"type":"sparse"}' } }); } };
  });
  const pool = new Pool({ workers: 1 });
  await assert.rejects(open(store, { path: "dense", pool }), (e) => e.code === "Io" && /no such file; give the address of the package's worker.js: new Pool\(\{ worker: url \}\)/.test(e.message));
  asked.length = 0;
  const waiting = open(store, { path: "dense", pool });
  assert.ok(await until(() => asked.includes("call")));
  failing[1]("gone");
  await assert.rejects(waiting, (e) => e.code === "Io" && /gone/.test(e.message));
  const array = await open(store, { path: "dense", pool });
  failing[2](new Error("out of memory"));
  assert.equal((await open(store, { path: "dense", pool })).kind, array.kind);
  assert.equal(starts, 4);
});
