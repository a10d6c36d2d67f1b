// Reads boxes of a dense array with the npm package, in Node or in Chromium:
// `node wasm.mjs node|chromium PACKAGE ARRAY QUERIES VARIANT RUNS SECONDS` prints a line of JSON.
import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch } from "../../wasm/npm/test/browser.mjs";
import { reads } from "./reads.mjs";

const [where, folder, path, queries, variant, runs, seconds] = process.argv.slice(2);
const asked = JSON.parse(readFileSync(queries)).subarray[variant.split("/")[1]];
const names = readdirSync(path, { recursive: true }).filter((name) => statSync(join(path, name)).isFile());

async function inNode() {
  const engine = await import(pathToFileURL(join(folder, "dist/node.js")));
  const files = names.map((name) => [name, readFileSync(join(path, name))]);
  const cpu = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1e3;
  return reads(engine, files, asked, runs, seconds, cpu);
}

/** Reads in a page. A page cannot measure its processor time. */
async function inPage({ names, asked, runs, seconds }) {
  const [engine, { reads }] = await Promise.all([import("/pkg/index.js"), import("/bench/reads.mjs")]);
  async function* files() {
    for (const name of names) {
      const url = `/array/${name.split("/").map(encodeURIComponent).join("/")}`;
      yield [name, new Uint8Array(await (await fetch(url)).arrayBuffer())];
    }
  }
  return reads(engine, files(), asked, runs, seconds, () => NaN);
}

/** A page that fetches the package and the array, and then reads from memory as in Node. */
async function inChromium() {
  const served = { pkg: join(folder, "dist"), array: path, bench: fileURLToPath(new URL(".", import.meta.url)) };
  const types = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };
  const server = createServer((request, response) => {
    const [top, ...rest] = decodeURIComponent(new URL(request.url, "http://x").pathname).slice(1).split("/");
    const file = top in served ? join(served[top], ...rest) : "";
    if (top === "") return response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>");
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": types[file.split(".").at(-1)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const page = await launch({}, { answerSeconds: 290 });
  try {
    await page.ask("POST", "/timeouts", { script: 1000 * (60 + runs * seconds) });
    await page.visit(`http://127.0.0.1:${server.address().port}/`);
    const text = JSON.stringify({ names, asked, runs, seconds });
    const found = await page.runAsync(`(${inPage})(${text}).then(done, (error) => done({ error: String(error.stack ?? error) }));`);
    if (found.error) throw new Error(found.error);
    return { ...found, params: { ...found.params, cpu: null } };
  } finally {
    await page.close();
    server.close();
  }
}

const found = await { node: inNode, chromium: inChromium }[where]();
console.log(JSON.stringify({ workload: "wasm", variant, peer: where, metric: "time", unit: "ms", ...found }));
