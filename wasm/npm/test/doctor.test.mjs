// What errors say when a browser gets no response: each names the cause and what to do. The pages are stand-ins, because
// a test has no host in the internet; origins.test.mjs has a blocked response in real browsers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, test } from "node:test";
import { HttpStore, open } from "hyperslab";

const real = globalThis.fetch;
afterEach(() => {
  delete globalThis.location;
  globalThis.fetch = real;
});

/** Opens a URL in a page of this address, whose requests all fail as those of browsers do. */
async function message(page, url) {
  globalThis.location = new URL(page);
  globalThis.fetch = async () => { throw new TypeError("Failed to fetch"); };
  try {
    await open(new HttpStore(url));
  } catch (error) {
    return `${error.code}: ${error.message}`;
  }
  throw new Error("it opened");
}

test("a page of https that reads over http is told to use https", async () => {
  const found = await message("https://viewer.example/", "http://data.example/array");
  assert.match(found, /^Io: .*http:\/\/data\.example\/array\/.*: the browser blocks the request \(Failed to fetch\): a page that came over https cannot read over http; .*`hyperslab view <URL>`$/);
  // Browsers trust their own machine.
  assert.doesNotMatch(await message("https://viewer.example/", "http://127.0.0.1:1/array"), /over https/);
});

test("a page of the internet that reads from a private network is told so", async () => {
  for (const host of ["localhost:8000", "127.0.0.1", "10.1.2.3", "192.168.0.9", "172.20.1.1", "[fd00::1]", "nas.local"]) {
    const found = await message("http://viewer.example/", `http://${host}/array`);
    assert.match(found, /Failed to fetch: the page came from the internet, and \S+ is in a private network, .*`hyperslab view <array>`/, host);
  }
  for (const [page, host] of [["http://localhost/", "10.1.2.3"], ["http://viewer.example/", "172.32.1.1"], ["http://viewer.example/", "10.example"]]) {
    assert.doesNotMatch(await message(page, `http://${host}/array`), /private network/, host);
  }
});

test("an error without a response never stands alone", async () => {
  const found = await message("http://viewer.example/", "http://data.example/array");
  assert.match(found, /Failed to fetch: no server responds; check the address and that the server runs, and that no extension of the browser and no Content-Security-Policy blocks it$/);
});

test("a server that ignores ranges and has a large file is named, with one that has ranges", async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(200, { "Content-Length": 2 ** 32 });
    response.write("x");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => { server.closeAllConnections(); server.close(); });
  const store = new HttpStore(`http://127.0.0.1:${server.address().port}/`);
  await assert.rejects(store.getRange("big", 0, 9), (e) => e.code === "Io" && /\/big: the server ignores ranges and would send the whole file; use a server with byte ranges, such as `hyperslab serve`/.test(e.message));
});
