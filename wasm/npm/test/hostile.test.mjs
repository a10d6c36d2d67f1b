// Web servers that send too much, too slowly, or the wrong bytes. Each response ends by itself.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { HttpStore } from "hyperslab";

const MB = 2 ** 20;
/** The size of an endless response, and the maximum number of bytes in socket buffers. */
const POURED_MAX = 1024 * MB;
const IN_TRANSIT = 24 * MB;

const servers = [];
after(() => servers.forEach((server) => { server.closeAllConnections(); server.close(); }));

/** Starts a server that responds with `reply`, and returns its URL. */
async function serving(reply) {
  const server = createServer((request, response) => { response.on("error", () => {}); reply(request, response); });
  servers.push(server);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

/** Sends megabytes until the client disconnects, and counts the bytes. */
function pour(response, count) {
  const part = Buffer.alloc(MB, "x");
  const more = () => {
    while (count.bytes < POURED_MAX && !response.destroyed) {
      count.bytes += MB;
      if (!response.write(part)) return void response.once("drain", more);
    }
  };
  more();
}

const fails = (promise, words) => assert.rejects(promise, (e) => e.code === "Io" && words.test(e.message) || assert.fail(String(e)));

test("bodies longer than requested are refused", async () => {
  const part = { "Content-Range": "bytes 0-99/1000" };
  for (const [status, headers, ask, most] of [
    [200, {}, (s) => s.get("__manifest.json"), 32 * MB],
    [200, {}, (s) => s.get("a"), 256 * MB],
    [200, {}, (s) => s.getRange("a", { offset: 0, length: 100 }), 64 * MB],
    [206, part, (s) => s.getRange("a", { offset: 0, length: 100 }), 100],
  ]) {
    const count = { bytes: 0 };
    const url = await serving((_, response) => { response.writeHead(status, headers); pour(response, count); });
    await fails(ask(new HttpStore(url)), new RegExp(`/(a|__manifest.json): the server sends more than ${most} bytes`));
    assert.ok(count.bytes <= most + IN_TRANSIT, `${count.bytes} bytes went out`);
  }
});

test("limits count decompressed bytes", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * MB));
  assert.ok(bomb.length < MB);
  const url = await serving((_, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end(bomb));
  await fails(new HttpStore(url).get("__manifest.json"), /sends more than 33554432 bytes/);
});

test("a slow response ends with an error", async () => {
  const drip = (response) => {
    let left = 2000;
    const timer = setInterval(() => (left-- > 0 && !response.destroyed ? response.write("x") : clearInterval(timer)), 5);
  };
  const dripping = await serving((_, response) => { response.writeHead(206, { "Content-Range": "bytes 0-99999/100000" }); drip(response); });
  await fails(new HttpStore(dripping, { timeout: 200 }).getRange("a", { offset: 0, length: 100_000 }), /the response was too slow/);
  const silent = await serving(() => {});
  await fails(new HttpStore(silent, { timeout: 200 }).get("a"), /no response within 200 ms/);
  const hinting = await serving((_, response) => {
    let left = 1000;
    const timer = setInterval(() => (left-- > 0 && !response.destroyed ? response.writeProcessing() : clearInterval(timer)), 5);
  });
  await fails(new HttpStore(hinting, { timeout: 200 }).get("a"), /no response within 200 ms/);
});

test("short ranges and ranges of compressed files are refused", async () => {
  const range = { offset: 0, length: 4 };
  const half = await serving((_, response) => response.writeHead(206, { "Content-Range": "bytes 0-1/9" }).end("ab"));
  await fails(new HttpStore(half).getRange("a", range), /sends only bytes 0-1 of 0-3;.*hyperslab serve/);
  const gzip = await serving((_, response) => response.writeHead(206, { "Content-Range": "bytes 0-3/9", "Content-Encoding": "gzip" }).end("abcd"));
  await fails(new HttpStore(gzip).getRange("a", range), /compressed file \(gzip\); turn compression off/);
  const short = await serving((_, response) => response.writeHead(206, { "Content-Range": "bytes 0-1/2" }).end("ab"));
  await fails(new HttpStore(short).getRange("a", range), /truncated/);
});

test("a server that returns 403 for missing files needs no manifest", async () => {
  const url = await serving((_, response) => response.writeHead(403).end());
  assert.equal(await new HttpStore(url).get("__manifest.json"), undefined);
  await fails(new HttpStore(url).get("a"), /403 Forbidden: the file is private or missing/);
});

test("messages do not show signatures and passwords", async () => {
  const url = await serving((_, response) => response.writeHead(403).end());
  const store = new HttpStore(`${url}/x?X-Amz-Signature=secret`);
  await assert.rejects(store.get("a"), (e) => /\/x\/a\?\*\*\*: the server returned 403/.test(e.message) && !e.message.includes("secret"));
});

test("the listing of a bucket has a limit", async () => {
  const page = JSON.stringify({ items: [{ name: "b/a", size: "1" }], nextPageToken: "again" });
  let pages = 0;
  const fetch = async () => { pages += 1; return new Response(page); };
  const store = new HttpStore("https://storage.googleapis.com/bucket/b", { fetch });
  await assert.rejects(store.list("x/"), (e) => e.code === "LimitExceeded" && e.message.includes("hyperslab index"));
  // The first one is of everything below.
  assert.equal(pages, 4097);
});

test("an error of CORS says so", async () => {
  const url = await serving((_, response) => response.writeHead(200).end("x"));
  const { fetch } = globalThis;
  globalThis.location = new URL("https://page.example/");
  globalThis.fetch = (request, init) => ((init?.mode ?? request.mode) === "no-cors" ? fetch(url) : Promise.reject(new TypeError("Failed to fetch")));
  try {
    await fails(new HttpStore(url).get("a"), /the browser blocks the response.*Access-Control-Allow-Origin/);
  } finally {
    delete globalThis.location;
    globalThis.fetch = fetch;
  }
});
