// Arrays on web servers with different features.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, kindOf, MemoryStore, mount, open, put, slice, writeManifest } from "hyperslab";
import { serve } from "./serve.mjs";
import { gate, until } from "./wait.mjs";

const side = 256;
const store = new MemoryStore();
const array = await create(store, {
  type: "dense",
  dims: [
    { name: "y", type: "uint32", domain: [0, side - 1], tile: 64 },
    { name: "x", type: "uint32", domain: [0, side - 1], tile: 64 },
  ],
  attrs: [{ name: "a", type: "float64" }],
}, { at: 1 });
const data = Float64Array.from({ length: side * side }, (_, i) => Math.sin(i));
await put(array, null, data, { at: 2 });
const plain = new Map(store);
await writeManifest(array);
const indexed = new Map(store);

const servers = [];
async function served(files, manners) {
  const server = await serve(files, manners);
  servers.push(server);
  return server;
}
after(() => Promise.all(servers.map((s) => s.close())));

for (const listing of ["json", "html", "go"]) {
  for (const ranges of [true, false]) {
    test(`a server that lists in ${listing} ${ranges ? "with" : "without"} ranges`, async () => {
      const { url } = await served(plain, { listing, ranges });
      assert.deepEqual((await get(await open(url))).data, data);
    });
  }
}

test("a web page in place of a file counts as a missing file", async () => {
  const { url } = await served(indexed, { listing: "page" });
  assert.deepEqual((await get(await open(url))).data, data);
  assert.equal(await new HttpStore(url).get("nothing"), undefined);
  const without = await served(plain, { listing: "page" });
  await assert.rejects(open(without.url), (e) => e.code === "NotFound" && /no __manifest.json.*hyperslab index/.test(e.message));
});

test("if a server ignores ranges, each file is requested once", async () => {
  const { url, log } = await served(indexed, { listing: "none", ranges: false });
  const opened = await open(url);
  const chunk = await get(opened, [slice(0, 10), slice(0, 10)]);
  assert.equal(chunk.at(3, 4), data[3 * side + 4]);
  log.length = 0;
  assert.deepEqual((await get(opened)).data, data);
  assert.equal(log.length, 0);
  const source = new HttpStore(url);
  const keys = [...indexed.keys()].filter((k) => k.endsWith(".tdb"));
  await source.getRange(keys[0], { offset: 0, length: 1 });
  log.length = 0;
  const parts = [[0, 4], [9, 3], [30, 2]];
  const read = await Promise.all(parts.map(([offset, length]) => source.getRange(keys[1], { offset, length })));
  parts.forEach(([at, n], i) => assert.deepEqual([...read[i]], [...indexed.get(keys[1]).subarray(at, at + n)]));
  assert.equal(log.length, 1);
  await assert.rejects(source.getRange(keys[1], { offset: 5, length: 1e6 }), /truncated/);
});

test("with a manifest, opening takes one round trip", async () => {
  const { url, log } = await served(indexed, { listing: "none" });
  await open(url);
  // One request for a listing, although the server has none, and one for the manifest.
  assert.deepEqual(log.map((r) => r.path).sort(), ["", "__manifest.json"]);
  log.length = 0;
  const opened = await open(new HttpStore(url, { listing: "manifest" }));
  assert.deepEqual(log.map((r) => r.path), ["__manifest.json"]);
  const chunk = await get(opened, [slice(0, 10), slice(0, 10)]);
  assert.equal(chunk.at(3, 4), data[3 * side + 4]);
  assert.equal(log.length, 2);
  assert.match(log[1].range, /^bytes=\d+-\d+$/);
});

test("if the server lists, a manifest hides no later writes", async () => {
  const written = new MemoryStore(indexed);
  written.delete("__manifest.json");
  await put(await open(written), [[0, 0], [0, 0]], Float64Array.of(7), { at: 3 });
  written.set("__manifest.json", indexed.get("__manifest.json"));
  const { url } = await served(written, { listing: "json" });
  assert.equal((await get(await open(url), [0, 0])).data[0], 7);
  const believing = await open(new HttpStore(url, { listing: "manifest" }));
  assert.equal((await get(believing, [0, 0])).data[0], data[0]);
});

test("put updates the manifest", async () => {
  const written = new MemoryStore(indexed);
  await put(await open(written), [[0, 0], [0, 1]], Float64Array.of(7, 8), { at: 3 });
  const { url } = await served(written, { listing: "none" });
  assert.deepEqual([...(await get(await open(url), [0, [0, 2]])).data], [7, 8, data[2]]);
});

test("a manifest stays if updating it fails", async () => {
  const written = new MemoryStore(indexed);
  const set = written.set.bind(written);
  written.set = (key, ...rest) => {
    if (key === "__manifest.json") throw new Error("the store is full");
    return set(key, ...rest);
  };
  await assert.rejects(put(await open(written), [[0, 0], [0, 1]], Float64Array.of(7, 8), { at: 3 }), /the store is full/);
  assert.deepEqual(written.get("__manifest.json"), indexed.get("__manifest.json"));
});

for (const ranges of [true, false]) {
  test(`what others write is seen through a manifest ${ranges ? "with" : "without"} ranges`, async () => {
    const written = new MemoryStore(indexed);
    const { url } = await served(written, { listing: "none", ranges });
    const source = new HttpStore(url);
    const before = await open(source);
    const first = async (array) => (await get(array, [0, 0])).data[0];
    assert.equal(await first(before), data[0]);
    await put(await open(written), [[0, 0], [0, 0]], Float64Array.of(7), { at: 3 });
    assert.equal(await first(await before.at(5)), 7);
    await put(await open(written), [[0, 0], [0, 0]], Float64Array.of(8), { at: 4 });
    assert.equal(await first(await open(source)), 8);
  });
}

test("without listing and manifest, the error names the command", async () => {
  const { url } = await served(plain, { listing: "none" });
  await assert.rejects(open(url), (e) => e.code === "NotFound" && e.message.includes("hyperslab index"));
});

test("a refused listing is not a missing array, and the error names the command", async () => {
  const { url } = await served(plain, { listing: "refused" });
  const expected = (e) => e.code === "Unsupported" && e.message.includes(`${url}/: the server returned 403 Forbidden; `) && e.message.includes("hyperslab index");
  await assert.rejects(open(url), expected);
  await assert.rejects(kindOf(url), expected);
  await assert.rejects(open(url, { kind: "group" }), expected);
  await assert.rejects(mount(url).stat("schema.json"), expected);
});

test("the error for an unreachable server has the URL and the cause", async () => {
  const server = await serve(plain, {});
  await server.close();
  const expected = (e) => e.code === "Io" && e.message.includes(`${server.url}/x/__manifest.json: fetch failed (connect ECONNREFUSED`);
  await assert.rejects(open(`${server.url}/x`), expected);
  await assert.rejects(open("s3://bucket/x"), (e) => e.code === "Unsupported" && /s3:\/\/bucket\/x\/.*give the bucket's https URL/.test(e.message));
});

test("a slice fetches only the bytes it needs, once", async () => {
  const { url } = await served(indexed, {});
  const events = [];
  const opened = await open(url, { onRequest: (e) => events.push(e) });
  events.length = 0;
  await get(opened, [slice(0, 64), slice(0, 64)]);
  const bytes = events.reduce((sum, e) => sum + e.bytes, 0);
  assert.ok(bytes >= 64 * 64 * 8 && bytes < 2 * 64 * 64 * 8, `${bytes} bytes for one tile of ${64 * 64 * 8}`);
  assert.ok(events.every((e) => e.status === 206 && e.ms >= 0 && e.url.startsWith(url) && e.range.length === 2));
  events.length = 0;
  await get(opened, [slice(10, 20), slice(5, 60)]);
  assert.deepEqual(events, []);
});

test("neighbouring tiles are fetched in one request", async () => {
  const { url, log } = await served(indexed, {});
  const opened = await open(url);
  log.length = 0;
  await get(opened);
  assert.equal(log.length, 1);
});

test("a shared request is aborted only when its last caller aborts", async () => {
  let held = gate();
  const { url, log } = await served(indexed, { held: () => held.opened });
  const source = new HttpStore(url);
  const key = [...indexed.keys()].find((k) => k.endsWith("a0.tdb"));
  const [one, two] = [new AbortController(), new AbortController()];
  const range = { offset: 0, length: 100 };
  const reads = [one, two].map(({ signal }) => source.getRange(key, range, { signal }));
  assert.ok(await until(() => log.length === 1));
  one.abort();
  await assert.rejects(reads[0], { name: "AbortError" });
  held.open();
  assert.equal((await reads[1]).length, 100);
  assert.equal(log.length, 1);

  held = gate();
  const three = new AbortController();
  const last = source.getRange(key, { offset: 500, length: 100 }, { signal: three.signal });
  assert.ok(await until(() => log.length === 2));
  three.abort();
  await assert.rejects(last, { name: "AbortError" });
  assert.ok(await until(() => log.aborted === 1));
});

test("a call can be aborted", async () => {
  let held;
  const { url, log } = await served(indexed, { held: () => held?.opened });
  const opened = await open(url);
  held = gate();
  log.length = 0;
  const controller = new AbortController();
  const read = get(opened, null, { signal: controller.signal });
  assert.ok(await until(() => log.length === 1));
  controller.abort(new DOMException("too late", "TimeoutError"));
  await assert.rejects(read, { name: "TimeoutError" });
  assert.ok(await until(() => log.aborted === 1));
  held.open();
  assert.deepEqual((await get(opened)).data, data);
  await assert.rejects(get(opened, null, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a custom fetch gets every request", async () => {
  const { url } = await served(plain, {});
  const seen = [];
  const own = (request) => { seen.push(request.headers.get("X-Token")); return fetch(request); };
  await open(new HttpStore(url, { fetch: own, headers: { "X-Token": "t" } }));
  assert.ok(seen.length > 0 && seen.every((t) => t === "t"));
});

test("a wrong byte range is refused", async () => {
  const { url } = await served(indexed, {});
  const shifted = async (request) => {
    const range = request.headers.get("Range")?.replace(/\d+/g, (n) => Number(n) + 64);
    return fetch(request.url, { headers: range && request.url.endsWith("a0.tdb") ? { Range: range } : request.headers });
  };
  const opened = await open(new HttpStore(url, { fetch: shifted }));
  await assert.rejects(get(opened, [slice(0, 64), slice(0, 64)]), (e) => e.code === "Io" && /a0.tdb: the server sends bytes \d+-\d+ instead of \d+-\d+; use a server with byte ranges/.test(e.message));
});

test("transient failures are retried", async () => {
  const { url } = await served(indexed, {});
  let failures = 2;
  const flaky = async (request) => (failures-- > 0 ? new Response("busy", { status: 503 }) : fetch(request));
  await open(new HttpStore(url, { fetch: flaky }));
  assert.ok(failures < 0);
});

test("an unknown kind of listing is refused", () => {
  assert.throws(() => new HttpStore("https://example.org/a", { listing: "json" }), (e) => e.code === "InvalidArgument" && e.message === `the option 'listing' must be auto, manifest, index, s3, gcs, not "json"`);
});

test("wrong numbers in options are refused, and a signature has a deadline", async () => {
  const { url } = await served(plain, {});
  for (const http of [{ concurrency: 0 }, { concurrency: "a" }, { cacheBytes: -1 }, { timeout: "x" }]) {
    await assert.rejects(open(url, { http }), { code: "InvalidArgument", message: new RegExp(`the option '${Object.keys(http)[0]}' must be a number`) });
  }
  await assert.rejects(open(url, { http: { timeout: 20, sign: () => new Promise(() => {}) } }), { code: "Io", message: /no response within 20 ms/ });
});
