// Arrays in zip files: read from bytes, blobs and URLs, and exported.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { crc32, deflateRawSync } from "node:zlib";
import { copy, create, get, MemoryStore, open, put, query } from "hyperslab";
import { exportZip, ZipStore } from "hyperslab/zip";
import { serve } from "./serve.mjs";

const store = new MemoryStore();
const cells = Int32Array.from({ length: 2 ** 18 }, (_, i) => i * 7);
const array = await create(store, { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 2 ** 18 - 1], tile: 1024 }], attrs: [{ name: "a", type: "int32" }] }, { path: "in/side" });
await put(array, null, cells, { at: 2 });
const servers = [];
after(() => Promise.all(servers.map((server) => server.close())));

const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());
const exported = await bytesOf(exportZip(array));

/** A zip file of `files`, compressed, with the sizes and places in 64 bits if `zip64`. */
function zipOf(files, { deflate = true, zip64 = false, encrypted = false } = {}) {
  const u16 = (...n) => Buffer.from(Uint16Array.from(n).buffer);
  const u32 = (...n) => Buffer.from(Uint32Array.from(n).buffer);
  const u64 = (...n) => Buffer.from(BigUint64Array.from(n, BigInt).buffer);
  const [parts, directory] = [[], []];
  let at = 0;
  for (const [name, bytes] of files) {
    const data = deflate ? deflateRawSync(bytes) : bytes;
    const common = Buffer.concat([u16(45, encrypted ? 1 : 0, deflate ? 8 : 0, 0, 0), u32(crc32(bytes))]);
    const sizes = zip64 ? u32(0xffffffff, 0xffffffff) : u32(data.length, bytes.length);
    const extra = zip64 ? Buffer.concat([u16(1, 24), u64(bytes.length, data.length, at)]) : Buffer.alloc(0);
    const names = Buffer.from(name);
    directory.push(u32(0x02014b50), u16(45), common, sizes, u16(names.length, extra.length, 0, 0, 0), u32(0, zip64 ? 0xffffffff : at), names, extra);
    const local = Buffer.concat([u32(0x04034b50), common, u32(data.length, bytes.length), u16(names.length, 9), names, Buffer.alloc(9), data]);
    parts.push(local);
    at += local.length;
  }
  const central = Buffer.concat(directory);
  const count = files.length;
  const end64 = zip64 ? [u32(0x06064b50), u64(44), u16(45, 45), u32(0, 0), u64(count, count, central.length, at), u32(0x07064b50, 0), u64(at + central.length), u32(1)] : [];
  const end = [u32(0x06054b50), u16(0, 0, ...(zip64 ? [0xffff, 0xffff] : [count, count])), u32(...(zip64 ? [0xffffffff, 0xffffffff] : [central.length, at])), u16(0)];
  return new Uint8Array(Buffer.concat([...parts, central, ...end64, ...end]));
}

test("an exported array is read from bytes and from a blob", async () => {
  for (const source of [exported, new Blob([exported])]) {
    const zip = await ZipStore.open(source);
    assert.deepEqual((await get(await open(zip))).data, cells);
    assert.deepEqual((await get(await open(zip), [[4998, 5001]])).data, cells.slice(4998, 5002));
  }
  const whole = await ZipStore.open(await bytesOf(exportZip(store)));
  assert.deepEqual((await get(await open(whole, { path: "in/side" }))).data, cells);
  const part = new MemoryStore();
  await copy(await ZipStore.open(exported), part);
  assert.deepEqual([...part].map(([key, bytes]) => [`in/side/${key}`, bytes]).sort(), [...store].sort());
});

for (const options of [{ deflate: true }, { deflate: false, zip64: true }, { deflate: true, zip64: true }]) {
  test(`a zip file by another program: ${JSON.stringify(options)}`, async () => {
    const files = [["in/", Buffer.alloc(0)], ...store, ["in/empty", Buffer.alloc(0)]];
    const zip = await ZipStore.open(zipOf(files, options));
    assert.deepEqual((await get(await open(zip, { path: "in/side" }))).data, cells);
    assert.deepEqual([zip.getSize("in/empty"), await zip.get("in/empty"), zip.getSize("in"), await zip.get("nothing")], [0, new Uint8Array(), undefined, undefined]);
  });
}

test("a zip file at a URL is read by ranges", async () => {
  const server = await serve(new Map([["my arrays/a b.zip", exported]]), { listing: "none" });
  servers.push(server);
  const url = new URL("my arrays/a b.zip?key=1", server.url);
  const zip = await ZipStore.open(url);
  const opened = await open(zip);
  const before = server.log.length;
  // Far from the start, which is read to find the size.
  assert.deepEqual((await get(opened, [[200_000, 200_099]])).data, cells.slice(200_000, 200_100));
  const read = server.log.slice(before).map(({ range }) => /^bytes=(\d+)-(\d+)$/.exec(range)).map(([, a, b]) => b - a + 1);
  assert.ok(read.length > 0 && read.reduce((sum, n) => sum + n, 0) < 10_000, String(read));
  await assert.rejects(ZipStore.open(new URL("nothing.zip", server.url)), (e) => e.code === "NotFound" && /nothing\.zip: there is no such file/.test(e.message));
});

test("errors of zip files say what is wrong", async () => {
  await assert.rejects(ZipStore.open(new Uint8Array(100)), (e) => e.code === "Corrupt" && /not a zip file/.test(e.message));
  const encrypted = await ZipStore.open(zipOf([["a", Buffer.from("abc")]], { encrypted: true }));
  await assert.rejects(encrypted.get("a"), (e) => e.code === "Unsupported" && /encrypted/.test(e.message));
  const bytes = zipOf([["a", Buffer.from("abcabcabcabc")]]);
  bytes.fill(0xff, 40, 44);
  await assert.rejects((await ZipStore.open(bytes)).get("a"), (e) => e.code === "Corrupt" && /a: the zip file is damaged/.test(e.message));
  const headless = zipOf([["a", Buffer.from("abc")]], { deflate: false });
  headless[0] = 0;
  await assert.rejects((await ZipStore.open(headless)).get("a"), (e) => e.code === "Corrupt" && /its header is missing/.test(e.message));
  await assert.rejects(put(await open(await ZipStore.open(exported)), null, cells), (e) => e.code === "Unsupported");
  await assert.rejects(bytesOf(exportZip(new MemoryStore())), (e) => e.code === "NotFound");
});

test("an export reads files as it is consumed, large ones in parts", async () => {
  const asked = [];
  const big = new Uint8Array(20 * 2 ** 20).map((_, i) => i % 251);
  const source = {
    get: async (key) => (asked.push(key), key === "big" ? assert.fail("read whole") : Uint8Array.of(1)),
    getRange: async (key, { offset, length }) => (asked.push([key, offset, length]), big.subarray(offset, offset + length)),
    getSize: async (key) => (key === "big" ? big.length : 1),
    list: () => [{ key: "big" }, { key: "small" }],
  };
  const reader = exportZip(source).getReader();
  await reader.read();
  assert.ok(asked.length <= 2, String(asked));
  await reader.cancel();
  const zip = await ZipStore.open(await bytesOf(exportZip(source)));
  assert.ok(Buffer.from(await zip.get("big")).equals(Buffer.from(big)));
  const aborted = new AbortController();
  const stream = exportZip(source, { signal: aborted.signal });
  aborted.abort(new Error("stop"));
  await assert.rejects(bytesOf(stream), /stop/);
});

test("require gives the same classes", async () => {
  const require = createRequire(import.meta.url);
  const [hyperslab, zip] = [require("hyperslab"), require("hyperslab/zip")];
  assert.deepEqual((await hyperslab.get(await hyperslab.open(await zip.ZipStore.open(exported)))).data, cells);
  await assert.rejects(zip.ZipStore.open(new Uint8Array(9)), (e) => e instanceof hyperslab.HyperslabError);
});
