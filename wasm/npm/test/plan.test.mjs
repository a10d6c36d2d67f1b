// Plans of reads: what they would request, and reads ahead.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, MemoryStore, open, prefetch, put, query, slice } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { named } from "./fixtures.mjs";
import { serve } from "./serve.mjs";

const store = new MemoryStore();
const side = 64;
const dense = await create(store, {
  type: "dense",
  dims: ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, side - 1], tile: 16 })),
  attrs: [{ name: "a", type: "float64", filters: ["zstd"] }, { name: "b", type: "int16" }],
}, { path: "dense", at: 1 });
await put(dense, null, { a: Float64Array.from({ length: side * side }, (_, i) => Math.sin(i)), b: new Int16Array(side * side) }, { at: 2 });
await put(await dense.at(9), [[0, 15], [0, 15]], { a: new Float64Array(256), b: new Int16Array(256) }, { at: 3 });
const sparse = await create(store, named, { path: "sparse", at: 1 });
const xs = Float64Array.from({ length: 100 }, (_, i) => i + 0.5);
await put(sparse, null, { x: xs, name: Array.from(xs, String), v: Int32Array.from(xs) }, { at: 2 });

const server = await serve(store);
const pool = new Pool({ workers: 2 });
after(() => Promise.all([server.close(), pool.close()]));

/** The requests of `read`, sorted. */
async function sent(read) {
  server.log.length = 0;
  await read();
  return server.log.map(({ path, range }) => `${path} ${range}`).sort();
}
const asSent = ({ requests }) => requests.map(({ key, offset, length }) => `${key} bytes=${offset}-${offset + length - 1}`).sort();
const at = (path) => new HttpStore(`${server.url}/${path}`);
const within = (path, plan) => ({ ...plan, requests: plan.requests.map((r) => ({ ...r, key: `${path}/${r.key}` })) });

for (const pooled of [false, true]) {
  const options = pooled ? { pool } : {};
  test(`the plan of a dense read is what is requested${pooled ? ", with a pool" : ""}`, async () => {
    for (const selection of [[slice(0, 20), slice(0, 20)], { x: [40, 60] }, "a@5,7"]) {
      const array = await open(at("dense"), options);
      const plan = await array.explain(selection, { attrs: ["a"] });
      const requested = await sent(() => get(array, selection, { attrs: "a" }));
      assert.deepEqual(asSent(within("dense", plan)), requested);
      assert.ok(requested.length > 0 && plan.bytes === plan.requests.reduce((sum, { length }) => sum + length, 0));
    }
  });

  test(`the plan of a sparse read has what is requested${pooled ? ", with a pool" : ""}`, async () => {
    const array = await open(at("sparse"), options);
    const plan = await array.explain({ x: [20, 38] });
    assert.equal(plan.tiles, 2);
    assert.deepEqual(asSent(within("sparse", plan)), await sent(() => query(array, { ranges: { x: [20, 38] } }).columns()));
  });
}

test("explaining requests no tiles, and cached tiles are not planned", async () => {
  const array = await open(at("dense"));
  const selection = [[0, 3], [0, 3]];
  const paths = await sent(() => array.explain(selection));
  assert.ok(paths.every((path) => path.includes("__fragment_metadata.tdb")), paths.join());
  await get(array, selection, { attrs: "a" });
  const { requests, tiles } = await array.explain(selection, { attrs: "a" });
  assert.deepEqual([requests, tiles], [[], 1]);
});

test("tiles have their coordinates, fragment and size", async () => {
  const array = await open(at("dense"));
  const found = await array.tiles([[10, 20], 3], { attrs: "a" });
  const [newer, older] = [array.fragments()[1], array.fragments()[0]];
  assert.deepEqual(found.map(({ fragment, number, domain }) => [fragment, number, domain]), [
    [newer.name, 0, [[0, 15], [0, 15]]],
    [older.name, 4, [[16, 31], [0, 15]]],
  ]);
  assert.ok(found.every(({ bytes }) => bytes > 0 && bytes < 3000), JSON.stringify(found));
  const [first, second, ...more] = await (await open(at("sparse"))).tiles({ x: [5, 12] });
  assert.deepEqual([first.domain, second.domain, more], [[[0.5, 9.5]], [[10.5, 19.5]], []]);
  await assert.rejects((await open(at("sparse"))).tiles([[5, 12]]), (e) => e.code === "InvalidArgument" && /by dimension name/.test(e.message));
});

test("conditions leave tiles out of the plan", async () => {
  const array = await open(at("sparse"));
  assert.equal((await array.explain({}, { where: "v >= 95" })).tiles, 1);
});

test("what was prefetched is not requested again", async () => {
  const array = await open(at("dense"));
  await prefetch(array, [[0, 40], [0, 40]], { attrs: "a" });
  assert.deepEqual(await sent(() => get(array, [[0, 40], [0, 40]], { attrs: "a" })), []);
});

test("a plan of very many tiles is refused at once", async () => {
  const dims = [{ name: "i", type: "int64", domain: [0, 2 ** 52], tile: 1000 }];
  const huge = await create(new MemoryStore(), { type: "dense", dims, attrs: [{ name: "a", type: "int8" }] });
  await put(huge, [[0, 9]], new Int8Array(10));
  await assert.rejects(huge.explain(), { code: "LimitExceeded", message: /select fewer cells/ });
  assert.equal((await huge.explain([[0, 5000]])).tiles, 1);
});
