// Requests for the files of mounts.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { create, MemoryStore, mount, put, respond } from "hyperslab";

let mounts;
before(async () => {
  const array = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }], attrs: [{ name: "a", type: "int32" }] }, { at: 1 });
  await put(array, null, Int32Array.from({ length: 10 }, (_, i) => i * i), { at: 2 });
  mounts = { squares: mount(await array.at(5)) };
});

const ask = (path, init) => respond(new Request(`https://example.org${path}`, init), mounts);
const slice = "/mnt/squares/slices/a@2:4.npy";

test("a request gets a file, or a part of it", async () => {
  const whole = await ask(slice);
  const bytes = new Uint8Array(await whole.arrayBuffer());
  assert.deepEqual([whole.status, whole.headers.get("Content-Length")], [200, String(bytes.length)]);
  assert.deepEqual([...new Int32Array(bytes.slice(-8).buffer)], [4, 9]);
  const head = await ask(slice, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("Content-Length"), (await head.arrayBuffer()).byteLength], [200, String(bytes.length), 0]);
  for (const [range, from, to] of [["bytes=-4", bytes.length - 4, bytes.length], ["bytes=1-5", 1, 6], ["bytes=130-", 130, bytes.length], ["bytes=0-9999", 0, bytes.length]]) {
    const part = await ask(slice, { headers: { Range: range } });
    assert.deepEqual([part.status, part.headers.get("Content-Range")], [206, `bytes ${from}-${to - 1}/${bytes.length}`], range);
    assert.deepEqual(new Uint8Array(await part.arrayBuffer()), bytes.subarray(from, to), range);
  }
  assert.equal((await ask(slice, { headers: { Range: "bytes=9999-" } })).status, 416);
  assert.equal((await ask(slice, { headers: { Range: "bytes=0-1,4-5" } })).status, 200);
});

test("a folder is a list, and what is missing says why", async () => {
  const list = await (await ask("/mnt/squares")).json();
  assert.ok(list.some(({ name, type }) => name === "slices" && type === "directory"), JSON.stringify(list));
  const text = async (path, init) => { const found = await ask(path, init); return [found.status, await found.text()]; };
  assert.match((await text("/mnt/squares/slices/a@50:99.npy"))[1], /not inside the domain|outside/);
  assert.deepEqual(await text("/mnt/cubes/x"), [404, "there is no mount 'cubes'; the mounts are squares"]);
  assert.equal((await text("/mnt/constructor/x"))[0], 404);
  assert.deepEqual(await text("/mnt/squares/nothing"), [404, "there is no file 'nothing'"]);
  assert.equal((await text(slice, { method: "POST", body: "x" }))[0], 405);
  assert.equal(await ask("/other/squares"), undefined);
});
