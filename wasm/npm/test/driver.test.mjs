// Starting a browser whose driver does not answer, with stand-ins for the driver.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "driver-"));
const PATH = process.env.PATH;
const [starts, children] = ["starts", "children"].map((name) => join(folder, name));
let launch;

/** A driver that starts a child as its browser, and answers `POST /session` from its nth start on, if ever. */
const driver = (nth) => `#!${process.execPath}
const { spawn } = require("node:child_process");
const { appendFileSync, readFileSync } = require("node:fs");
appendFileSync(${JSON.stringify(starts)}, "start\\n");
const n = readFileSync(${JSON.stringify(starts)}, "utf8").trim().split("\\n").length;
const port = Number(process.argv.join(" ").match(/--port[= ](\\d+)/)[1]);
require("node:http").createServer((request, response) => {
  const answer = (value) => response.end(JSON.stringify({ value }));
  if (request.url === "/status") return answer({ ready: true });
  if (request.method === "DELETE") return answer(null);
  if (request.url !== "/session") return;
  appendFileSync(${JSON.stringify(children)}, spawn("sleep", ["600"]).pid + "\\n");
  if (n >= ${nth}) answer({ sessionId: "one", capabilities: { browserVersion: "1" } });
}).listen(port, "127.0.0.1");
`;

function install(nth) {
  rmSync(starts, { force: true });
  rmSync(children, { force: true });
  for (const program of ["chromedriver", "geckodriver", "WebKitWebDriver"]) {
    writeFileSync(join(folder, program), driver(nth));
    chmodSync(join(folder, program), 0o755);
  }
}

/** The children that still run. A killed child stays a zombie until its parent takes notice. */
async function running() {
  await new Promise((done) => setTimeout(done, 200));
  const runs = (pid) => existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  return readFileSync(children, "utf8").trim().split("\n").filter(runs);
}

const count = () => readFileSync(starts, "utf8").trim().split("\n").length;

before(async () => {
  ({ launch } = await import("./browser.mjs"));
  process.env.PATH = `${folder}:${PATH}`;
});
after(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

test("a driver that never answers is killed with its browser, three times, and named", { timeout: 30_000 }, async () => {
  install(Infinity);
  await assert.rejects(launch({}, { startSeconds: 1 }), (error) => {
    assert.match(error.message, /^(chromium|firefox|webkit) did not start in try 3 of 3: \w+ did not answer POST \/session within 1 s; check .*`cargo xtask setup`/);
    return true;
  });
  assert.equal(count(), 3);
  assert.deepEqual(await running(), []);
});

test("a browser that starts in its third try is used, and each of its requests has a deadline", { timeout: 30_000 }, async () => {
  install(3);
  const page = await launch({}, { startSeconds: 1, answerSeconds: 1 });
  assert.equal(page.version, "1");
  assert.equal(count(), 3);
  await assert.rejects(page.title(), /did not answer GET \/session\/one\/title within 1 s/);
  await page.close();
  assert.deepEqual(await running(), []);
});

test("a driver that is not installed is reported at once", async () => {
  process.env.PATH = "/nowhere";
  await assert.rejects(launch(), /ENOENT; run `cargo xtask setup`/);
  process.env.PATH = `${folder}:${PATH}`;
});
