// How many requests and round trips opening takes.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, init, kindOf, MemoryStore, open, put, writeManifest } from "hyperslab";
import { serve } from "./serve.mjs";

await init();

/** An array with this many fragments, each of two tiles. */
async function written(fragments, path = "") {
  const store = new MemoryStore();
  const dims = [{ name: "i", type: "int32", domain: [0, 999], tile: 5 }];
  let array = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "int32" }] }, { path, at: 1 });
  for (let i = 0; i < fragments; i += 1) await put(array, [[10 * i, 10 * i + 9]], new Int32Array(10).fill(i), { at: i + 2 });
  return store;
}

/** Runs `work` with a `fetch` that holds requests, and releases all of them when no more come. Returns the requests of each round. */
async function rounds(respond, work) {
  const found = [];
  let held = [];
  const fetch = (request) => new Promise((resolve) => held.push([request, resolve]));
  let done = false;
  const result = work(fetch).finally(() => { done = true; });
  // Many turns, so that everything that does not wait for a response has run.
  const turns = async () => { for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setTimeout(resolve)); };
  for (await turns(); !done || held.length > 0; await turns()) {
    if (held.length === 0) continue;
    const round = held;
    held = [];
    found.push(round.map(([{ url }]) => url));
    for (const [request, resolve] of round) resolve(respond(request));
  }
  return [found, await result];
}

/** Responds as S3 does, with listings of up to `pageSize` keys. */
function bucket(files, pageSize = 1000) {
  return (request) => {
    const url = new URL(request.url);
    if (url.searchParams.has("list-type")) {
      const [prefix, delimiter, from] = ["prefix", "delimiter", "continuation-token"].map((name) => url.searchParams.get(name) ?? "");
      const all = new Set([...files.keys()].filter((key) => key.startsWith(prefix)).map((key) => {
        const end = delimiter ? key.indexOf("/", prefix.length) : -1;
        return end < 0 ? key : key.slice(0, end + 1);
      }));
      const sorted = [...all].sort().filter((key) => key > from);
      const page = sorted.slice(0, pageSize);
      const items = page.map((key) => (key.endsWith("/") ? `<CommonPrefixes><Prefix>${key}</Prefix></CommonPrefixes>` : `<Contents><Key>${key}</Key><Size>${files.get(key).length}</Size></Contents>`));
      const next = sorted.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
      return new Response(`<ListBucketResult>${items.join("")}${next}</ListBucketResult>`);
    }
    const bytes = files.get(decodeURIComponent(url.pathname.slice(1)));
    if (!bytes) return new Response("", { status: 404 });
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("Range") ?? "");
    return range ? new Response(bytes.slice(Number(range[1]), Number(range[2]) + 1), { status: 206 }) : new Response(bytes);
  };
}

const url = "https://data.s3.eu-west-1.amazonaws.com/some/array";
const options = { concurrency: 1000 };

for (const fragments of [1, 100]) {
  test(`a bucket with ${fragments} fragments is opened in two round trips`, async () => {
    const files = await written(fragments, "some/array");
    const [found, array] = await rounds(bucket(files), (fetch) => open(new HttpStore(url, { ...options, fetch })));
    // A manifest and one listing, then the schema and the metadata of each fragment.
    assert.deepEqual(found.map((round) => round.length), [2, 1 + fragments]);
    assert.equal(array.fragments().length, fragments);
    const lists = found.flat().filter((address) => address.includes("list-type")).map((address) => new URL(address).searchParams);
    assert.deepEqual(lists.map((query) => [query.get("prefix"), query.get("delimiter")]), [["some/array/", null]]);
  });
}

test("a bucket whose files do not fit in one listing is opened in three round trips", async () => {
  const files = await written(30, "some/array");
  // The first page ends within the fragments, after all commits.
  const [found, array] = await rounds(bucket(files, 50), (fetch) => open(new HttpStore(url, { ...options, fetch })));
  // A manifest and the first page; the folder and its folders of schemas and metadata; the schema and the fragments.
  assert.deepEqual(found.map((round) => round.length), [2, 3, 31]);
  assert.equal(array.fragments().length, 30);
});

test("a later open of a bucket lists again", async () => {
  const files = await written(1, "some/array");
  const respond = bucket(files);
  const store = new HttpStore(url, { fetch: async (request) => respond(request) });
  const first = await open(store);
  await put(await open(files, { path: "some/array" }), [[0, 0]], Int32Array.of(7), { at: 9 });
  assert.deepEqual([...(await get(await first.at(10), [[0, 1]])).data], [7, 0]);
  assert.equal(await kindOf(store), "array");
});

test("on other hosts, the metadata of each fragment is one request", async () => {
  const files = await written(100);
  const { url, log, close } = await serve(files);
  after(close);
  const array = await open(url);
  const metadata = log.filter(({ path }) => path.endsWith("__fragment_metadata.tdb"));
  assert.deepEqual([metadata.length, array.fragments().length], [100, 100]);
  // Five lists, a manifest and the schema.
  assert.equal(log.length, 107);
  log.length = 0;
  await get(array, [[0, 9]]);
  assert.deepEqual(log.map(({ path }) => path.split("/").at(-1)), ["a0.tdb"]);
});

test("with a manifest, opening takes one round trip at any number of fragments", async () => {
  const files = await written(100);
  await writeManifest(await open(files));
  const respond = bucket(files);
  const [found, array] = await rounds(respond, (fetch) => open(new HttpStore("https://example.org/", { fetch, listing: "manifest" })));
  assert.deepEqual(found.map((round) => round.length), [1]);
  assert.equal(array.fragments().length, 100);
});
