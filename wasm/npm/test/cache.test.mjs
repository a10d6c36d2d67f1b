// The cache of decoded tiles.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, list, MemoryStore, open, put } from "hyperslab";
import { serve } from "./serve.mjs";

const side = 2304;
const store = new MemoryStore();
const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [-1, side - 2], tile: 256 }));
const written = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "float32", filters: ["byteshuffle", "zstd"] }] }, { path: "a", at: 1 });
await put(written, null, Float32Array.from({ length: side * side }, (_, i) => i % 1000), { at: 2 });

const server = await serve(store);
after(() => server.close());
const at = (path, options = {}) => open(new HttpStore(`${server.url}/${path}`, options));

test("a window that is read again is neither requested nor decoded", async () => {
  const array = await at("a", { cacheBytes: 0 });
  const windows = [[[255, 766], [255, 766]], [list([3, 4, 300]), null]];
  for (const window of windows) {
    const first = await get(array, window);
    assert.deepEqual(await array.explain(window), { requests: [], bytes: 0, tiles: (await array.tiles(window)).length });
    server.log.length = 0;
    assert.deepEqual((await get(array, window)).data, first.data);
    assert.equal(server.log.length, 0);
  }
  // The same array at another time shares the tiles.
  assert.equal((await (await array.at(5)).explain(windows[0])).bytes, 0);
});

test("`tileCacheBytes` bounds the cache of tiles", async () => {
  const window = [[255, 766], [255, 766]];
  const source = (options) => open(new HttpStore(`${server.url}/a`, { cacheBytes: 0 }), options);
  const none = await source({ tileCacheBytes: 0 });
  await get(none, window);
  assert.ok((await none.explain(window)).bytes > 0);
  const some = await source({ tileCacheBytes: 2 ** 21 });
  for (const x of [0, 512, 1024, 1536]) await get(some, [[-1, 510], [x, x + 511]]);
  assert.equal((await some.explain([[-1, 510], [1536, 2047]])).bytes, 0);
  assert.ok((await some.explain([[-1, 510], [0, 511]])).bytes > 0);
  await assert.rejects(source({ tileCacheBytes: -1 }), (e) => e.code === "InvalidArgument");
});
