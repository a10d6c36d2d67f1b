// Pages with strict policies, and servers of other origins, in a browser.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, MemoryStore, put, writeManifest } from "hyperslab";
import { browser } from "./browser.mjs";
import { distFiles } from "./dist.mjs";
import { serve } from "./serve.mjs";
import { titles } from "./titles.mjs";

const library = await distFiles("pkg/");
const elsewhere = await serve(library, { listing: "none" });
after(() => elsewhere.close());

const schema = { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int32" }] };
/** Errors that browsers log because of a policy or a blocked response. */
const refusals = /Content Security Policy|Trusted(ScriptURL|TypePolicy)|blocked by CORS policy|net::ERR_/;

/** Runs `script` in a page with this policy, and returns its result. The package comes from `place`. */
async function made(policy, place, script) {
  const text = (string) => new TextEncoder().encode(string);
  const page = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'self' ${elsewhere.url}; ${policy}">
    <link rel="icon" href="data:,"><script type="module" src="page.js"></script>`;
  const server = await serve(new Map([...library, ["index.html", text(page)], ["page.js", text(`
    import { create, get, MemoryStore, open, put } from "${place}/pkg/index.js";
    import { Pool } from "${place}/pkg/pool.js";
    const unhandled = [];
    addEventListener("unhandledrejection", (event) => { unhandled.push(String(event.reason)); event.preventDefault(); });
    const told = (work) => work.catch((e) => [e.name, e.code, e.message]);
    const schema = ${JSON.stringify(schema)};
    ${script}
    await new Promise((done) => setTimeout(done, 50));
    document.title = JSON.stringify([found, unhandled]);
  `)]]), { listing: "none" });
  const [[found, unhandled]] = await titles(server, 1, refusals);
  assert.deepEqual(unhandled, []);
  return found;
}

const pooled = `
  const store = new MemoryStore();
  await put(await create(store, schema), null, Int32Array.of(1, 2, 3, 4));
  const pool = new Pool({ workers: 2 });
  const read = async () => (await get(await open(store, { pool }))).data.reduce((a, b) => a + b);
  const found = await told(read());
  if (typeof found === "object") await told(read());
  pool.close();
`;
const scripts = `script-src 'self' ${elsewhere.url} 'wasm-unsafe-eval'; img-src data:`;
const trusting = "require-trusted-types-for 'script'; trusted-types hyperslab";

test("a pool works if the package comes from another origin, and under Trusted Types", async () => {
  assert.equal(await made(`${scripts}; worker-src 'self' blob: ${elsewhere.url}`, elsewhere.url, pooled), 10);
  assert.equal(await made(`${scripts}; ${trusting}`, ".", pooled), 10);
  assert.equal(await made(`${scripts}; worker-src blob: ${elsewhere.url}; ${trusting}`, elsewhere.url, pooled), 10);
});

test("if a page's policy refuses workers, the error says what to allow", async () => {
  const [name, code, message] = await made(`${scripts}; worker-src 'self'`, elsewhere.url, pooled);
  // WebKit refuses at once, so that the pool does not start; other browsers say it later.
  assert.deepEqual([name, code], ["HyperslabError", browser === "webkit" ? "Unsupported" : "Io"]);
  assert.match(message, /worker.*; its host must send "Access-Control-Allow-Origin", and the page's Content-Security-Policy must allow "worker-src blob: http:\/\/127\.0\.0\.1:\d+"/);
  for (const policies of ["trusted-types 'none'", "trusted-types other"]) {
    const found = await made(`${scripts}; require-trusted-types-for 'script'; ${policies}`, ".", pooled);
    assert.deepEqual(found.slice(0, 2), ["HyperslabError", "Unsupported"]);
    assert.match(found[2], /cannot start a worker: .*; add "trusted-types hyperslab" to the page's Content-Security-Policy, or open the array without a pool$/);
  }
});

test("the error for a server without CORS says what to set", async (t) => {
  const store = new MemoryStore();
  const array = await create(store, schema, { at: 1 });
  await put(array, null, Int32Array.of(1, 2, 3, 4), { at: 2 });
  await writeManifest(array);
  const host = await serve(store, { cors: false });
  t.after(() => host.close());
  for (const [options, headers] of [["{}", ""], ['{ http: { headers: { "X-Token": "t" } } }', ', and "Access-Control-Allow-Headers: X-Token"'], ['{ http: { sign: () => ({}) } }', ', and "Access-Control-Allow-Headers: <headers that `sign` adds>"']]) {
    host.log.length = 0;
    const [name, code, message] = await made(`${scripts}; connect-src 'self' ${host.url}`, ".", `const found = await told(open("${host.url}/", ${options}));`);
    assert.deepEqual([name, code], ["HyperslabError", "Io"]);
    assert.match(message, /__manifest\.json: the server responds, but the browser blocks the response \(.*\)\. The likely cause is CORS: the server must send "Access-Control-Allow-Origin: http:\/\/127\.0\.0\.1:\d+" with every response, including 404/);
    assert.ok(message.endsWith(`with every response, including 404${headers}`), message);
    assert.ok(host.log.length <= 6, `the manifest and the list are asked for twice, and each time the host once: ${host.log.length}`);
  }
});
