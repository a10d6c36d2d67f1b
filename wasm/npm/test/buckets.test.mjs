// Reads arrays by the listings of S3 and Google Cloud Storage, with one name per page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, get, HttpStore, MemoryStore, open, put } from "hyperslab";

const memory = new MemoryStore();
const path = "some data+more/a&b";
const array = await create(memory, {
  type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }], attrs: [{ name: "a", type: "int16" }],
}, { path });
const data = Int16Array.from({ length: 10 }, (_, i) => i * i);
await put(array, [[0, 4]], data.slice(0, 5), { at: 10 });
await put(array, [[5, 9]], data.slice(5), { at: 20 });
// The marker of a folder.
memory.set(`${path}/__meta/`, new Uint8Array());

/** The `from`-th direct child of `prefix`, as a page of the listing. */
function page(prefix, from) {
  const names = new Set([...memory.keys()].filter((k) => k.startsWith(prefix)).map((k) => prefix + /^[^/]*\/?/.exec(k.slice(prefix.length))[0]));
  const all = [...names].sort();
  return { found: all.slice(from, from + 1), next: from + 1 < all.length ? String(from + 1) : undefined };
}

const encode = (key) => encodeURIComponent(key).replaceAll("%20", "+");
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function s3(query, encoded) {
  assert.equal(query.get("list-type"), "2");
  const { found, next } = page(query.get("prefix"), Number(query.get("continuation-token")?.slice(1) ?? 0));
  const name = encoded ? encode : escape;
  const items = found.map((key) => (key.endsWith("/") && key !== query.get("prefix")
    ? `<CommonPrefixes><Prefix>${name(key)}</Prefix></CommonPrefixes>`
    : `<Contents><Key>${name(key)}</Key><Size>${memory.get(key).length}</Size></Contents>`));
  return `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${encoded ? "<EncodingType>url</EncodingType>" : ""}
    ${items.join("\n")}${next ? `<NextContinuationToken>&amp;${next}</NextContinuationToken>` : ""}</ListBucketResult>`;
}

function gcs(query) {
  const { found, next } = page(query.get("prefix"), Number(query.get("pageToken") ?? 0));
  const folders = found.filter((key) => key.endsWith("/") && key !== query.get("prefix"));
  const files = found.filter((key) => !folders.includes(key)).map((key) => ({ name: key, size: String(memory.get(key).length) }));
  return JSON.stringify({ prefixes: folders, items: files, nextPageToken: next });
}

/** A `fetch` that returns listings at the URL `lists`, and files under `files`. */
const host = (lists, files, list) => async (request) => {
  const url = new URL(request.url);
  const address = url.origin + url.pathname;
  if (address === lists && url.searchParams.has("prefix")) return new Response(list(url.searchParams));
  assert.ok(address.startsWith(files), address);
  const bytes = memory.get(decodeURIComponent(address.slice(files.length)));
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("Range") ?? "");
  if (!bytes) return new Response("", { status: 404 });
  return range ? new Response(bytes.slice(Number(range[1]), Number(range[2]) + 1), { status: 206 }) : new Response(bytes);
};

const xml = (query) => s3(query, true);
for (const [name, url, lists, list, options] of [
  ["S3 by host", "https://data.s3.eu-west-1.amazonaws.com/", "https://data.s3.eu-west-1.amazonaws.com/", xml],
  ["S3 by path", "https://s3.us-east-2.amazonaws.com/data/", "https://s3.us-east-2.amazonaws.com/data", xml],
  ["S3 elsewhere", "http://localhost:9000/data/", "http://localhost:9000/data", xml, { listing: "s3" }],
  ["S3 without encoded keys", "http://localhost:9000/data/", "http://localhost:9000/data", (query) => s3(query, false), { listing: "s3" }],
  ["GCS by path", "https://storage.googleapis.com/data/", "https://storage.googleapis.com/storage/v1/b/data/o", gcs],
  ["GCS by host", "https://data.storage.googleapis.com/", "https://storage.googleapis.com/storage/v1/b/data/o", gcs],
]) {
  test(name, async () => {
    const http = { ...options, fetch: host(lists, url, list) };
    const inside = new URL(path.split("/").map(encodeURIComponent).join("/"), url);
    const opened = await open(inside, { http });
    assert.deepEqual(opened.fragments().map((f) => f.start), [10, 20]);
    assert.deepEqual((await get(opened)).data, data);
    assert.deepEqual((await get(await open(new HttpStore(url, http), { path }))).data, data);
  });
}

test("the error for a bucket without listing says what to do", async () => {
  for (const answer of [["", { status: 403, statusText: "Forbidden" }], ["<html>"], ["", { status: 404 }]]) {
    const fetch = async (request) => (new URL(request.url).search ? new Response(...answer) : new Response("", { status: 404 }));
    await assert.rejects(open("https://data.s3.amazonaws.com/x", { http: { fetch } }), (e) => e.code === "NotFound" && e.message.includes("hyperslab index"));
  }
});

for (const form of ["a URL", "headers"]) {
  test(`a function signs each request with ${form}: files, ranges, and pages of listings`, async () => {
    const url = "https://data.s3.eu-west-1.amazonaws.com/";
    const answer = host(url, url, xml);
    const [given, used, shown] = [new Set(), new Set(), []];
    // Each signature is for one URL and one range, and can be used once.
    const sign = async (url, { method, range, signal }) => {
      assert.ok(method === "GET" && signal instanceof AbortSignal);
      const signature = `${given.size}-${encodeURIComponent(`${url} ${range}`)}`;
      given.add(signature);
      const signed = new URL(url);
      signed.searchParams.set("signature", signature);
      return form === "a URL" ? signed : { Authorization: signature };
    };
    const fetch = async (request) => {
      const signed = new URL(request.url);
      const signature = signed.searchParams.get("signature") ?? request.headers.get("Authorization");
      signed.searchParams.delete("signature");
      const [, what] = signature.split(/-(.*)/);
      assert.equal(decodeURIComponent(what), `${signed.href} ${request.headers.get("Range") ?? undefined}`);
      assert.ok(given.has(signature) && !used.has(signature));
      used.add(signature);
      if (used.size === 3) return new Response("", { status: 503 });
      return answer(new Request(signed, request));
    };
    const opened = await open(url, { path, http: { fetch, sign }, onRequest: ({ url }) => shown.push(url) });
    assert.deepEqual((await get(opened)).data, data);
    assert.deepEqual([used.size, shown.length], [given.size, given.size]);
    assert.ok(given.size > 8 && !shown.some((url) => url.includes("signature")));
    const broken = open(url, { path, http: { fetch, sign: () => null.x } });
    await assert.rejects(broken, (e) => e.code === "Io" && /the option 'sign' failed \(Cannot read/.test(e.message));
  });
}
