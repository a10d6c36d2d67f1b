// Unused stores, and objects of workers, are freed.
import assert from "node:assert/strict";
import { test } from "node:test";
import v8 from "node:v8";
import vm from "node:vm";
import { consolidate, create, kindOf, MemoryStore, mount, open, put, query } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { RawStore } from "../dist/core.js";
import { serve } from "../dist/worker.js";
import { turn, until } from "./wait.mjs";

v8.setFlagsFromString("--expose_gc");
const gc = vm.runInNewContext("gc");

const schema = { type: "sparse", dims: [{ name: "x", type: "int32", domain: [0, 999], tile: 100 }], attrs: [{ name: "a", type: "int32" }], capacity: 10 };

/** A store with an array of 100 cells. */
async function filled() {
  const store = new MemoryStore();
  const xs = Int32Array.from({ length: 100 }, (_, i) => i);
  await put(await create(store, schema, { at: 1 }), null, { x: xs, a: xs }, { at: 2 });
  return store;
}

/** Runs the garbage collector until `done`. Finalizers run between turns of the event loop. */
const collected = (done) => until(() => (gc(), done()));

const alive = (refs) => refs.filter((ref) => ref.deref()).length;

/** Uses `count` stores in every way, and drops them. */
async function dropped(count, options) {
  const refs = [];
  for (let i = 0; i < count; i += 1) {
    const store = await filled();
    const array = await open(store, options);
    assert.equal((await query(array).columns()).length, 100);
    assert.ok((await mount(array).readDir()).length > 3);
    refs.push(new WeakRef(store));
  }
  return refs;
}

test("an unused store is garbage-collected", async () => {
  const refs = await dropped(20);
  // A register may still refer to the last one.
  assert.ok(await collected(() => alive(refs) <= 1), `${alive(refs)} of ${refs.length} stores are alive`);
});

test("a running call keeps its store alive", async () => {
  /** A store that only the engine refers to. It runs the garbage collector before each response. */
  const busy = async () => {
    const files = await filled();
    await put(await open(files), null, { x: [500], a: [1] }, { at: 3 });
    const slowly = async (work) => {
      for (let i = 0; i < 3; i += 1) {
        await turn();
        gc();
      }
      return work();
    };
    return {
      get: (key) => slowly(() => files.get(key)),
      getRange: (key, { offset, length }) => slowly(() => files.get(key)?.subarray(offset, offset + length)),
      getSize: (key) => slowly(() => files.get(key)?.length),
      list: (prefix) => slowly(() => files.list(prefix)),
      set: (key, bytes, options) => files.set(key, bytes, options),
    };
  };
  // Not async functions, because these may keep a reference in a register while they wait.
  const opened = () => busy().then((store) => open(store));
  assert.equal(await busy().then((store) => kindOf(store)), "array");
  assert.equal(await opened().then((array) => query(array, { where: "a < 50" }).count()), 51);
  assert.equal((await opened().then((array) => query(array).columns())).length, 101);
  assert.equal((await opened().then((array) => consolidate(array))).length, 1);
  assert.ok((await busy().then((store) => mount(store).readFile("slices/all.csv"))).length > 0);
});

test("a pool frees unused stores, arrays and mounts", async () => {
  const pool = new Pool({ workers: 2 });
  try {
    const refs = await dropped(10, { pool });
    const kept = () => pool.workers.reduce((sum, lane) => sum + lane.bridges.size + lane.has.size, 0);
    // Registers may still refer to the last store. Each worker then keeps the store, an array and a mount.
    assert.ok(await collected(() => alive(refs) <= 1 && kept() <= 6), `${alive(refs)} stores and ${kept()} objects are alive`);
  } finally {
    pool.close();
  }
});

test("a worker frees stores as well as objects", async () => {
  const answers = new Map();
  const files = await filled();
  const tell = serve({
    post: (message) => {
      if (message.type === "done") answers.get(message.id)(message);
      if (message.type !== "ask") return;
      const { id, method, args } = message;
      const value = method === "list" ? [...files.list(args[0] && `${args[0]}/`)].map(({ key }) => ({ name: key.split("/").at(args[0] ? 1 : 0), dir: key.split("/").length > (args[0] ? 2 : 1) }))
        : method === "size" ? files.get(args[0])?.length : files.get(args[0])?.slice(args[1], args[2]);
      queueMicrotask(() => tell({ type: "done", id, value }));
    },
  });
  const call = (id, what) => new Promise((resolve) => { answers.set(id, resolve); tell({ type: "call", id, args: [], ...what }); });
  const freed = [];
  const { free } = RawStore.prototype;
  RawStore.prototype.free = function () { freed.push(this); free.call(this); };
  try {
    tell({ type: "start" });
    const on = { number: 1, url: "", believesManifest: false, tileCacheBytes: 1000 };
    const opened = await call(1, { on, method: "open", args: ["", 0, Infinity, undefined], keep: 2 });
    assert.equal(opened.error, undefined);
    tell({ type: "free", object: 1 });
    assert.equal(freed.length, 1);
    // The array stays until it is freed itself.
    assert.equal((await call(2, { on: 2, method: "count", args: ["{}", undefined] })).value, 100);
    tell({ type: "free", object: 2 });
    assert.match((await call(3, { on: 2, method: "count", args: ["{}", undefined] })).error.message, /open the array again/);
  } finally {
    RawStore.prototype.free = free;
  }
});

test("reads that end early leave no objects in the workers", async () => {
  const pool = new Pool({ workers: 2 });
  try {
    const array = await open(await filled(), { pool });
    const made = () => pool.workers.reduce((sum, lane) => sum + lane.has.size, 0);
    // Each worker opens the array with its first read.
    await Promise.all([1, 2, 3, 4].map(() => query(array).columns()));
    assert.ok(pool.workers.every((lane) => lane.has.size > 0));
    const before = made();
    for (let i = 0; i < 10; i += 1) {
      const controller = new AbortController();
      const read = query(array, { signal: controller.signal, batchBytes: 100 }).columns();
      setTimeout(() => controller.abort(), i % 3);
      await read.catch(() => {});
      // The first query fails when it starts, the second one with its first batch.
      await assert.rejects(query(array, { ranges: { nothing: [1, 2] } }).columns(), { code: "InvalidArgument" });
      await assert.rejects(query(array, { where: "nothing > 3" }).columns(), { code: "InvalidArgument" });
      for await (const batch of query(array, { batchBytes: 100 })) { assert.ok(batch.length > 0); break; }
    }
    await assert.rejects(open(new MemoryStore(), { pool }), { code: "NotFound" });
    // Objects are freed when their worker has responded.
    assert.ok(await until(() => made() === before), `${made()} objects, ${before} before`);
  } finally {
    pool.close();
  }
});
