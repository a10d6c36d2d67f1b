// Boxes of a dense array read by the npm package in Node, out of memory:
// `node wasm.mjs PACKAGE ARRAY QUERIES VARIANT RUNS SECONDS` prints a line of JSON.
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, path, queries, variant, runs, seconds] = process.argv.slice(2);
const { MemoryStore, get, open } = await import(pathToFileURL(join(folder, "dist/node.js")));

const store = new MemoryStore();
for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = join(entry.parentPath, entry.name);
  await store.set(relative(path, file), readFileSync(file));
}

const { boxes, sum } = JSON.parse(readFileSync(queries)).subarray[variant.split("/")[1]];
// One box after the other, in an array opened anew, as in the native runs.
async function pass(use) {
  const array = await open(store);
  const began = [performance.now(), process.cpuUsage()];
  for (const [top, bottom, left, right] of boxes) {
    use(await get(array, [[top, bottom], [left, right]]));
  }
  const { user, system } = process.cpuUsage(began[1]);
  return [performance.now() - began[0], (user + system) / 1e3];
}

let found = 0n;
await pass(({ data }) => data.forEach((value) => (found += BigInt(value))));
const walls = [];
const cpus = [];
const started = performance.now();
for (let k = 0; k < runs && (k === 0 || performance.now() - started < seconds * 1e3); k++) {
  const [wall, cpu] = await pass(() => {});
  walls.push(wall / boxes.length);
  cpus.push(cpu / boxes.length);
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const params = { values: walls, cpu: median(cpus), check_ok: found === BigInt(sum), memory_peak_kb: process.resourceUsage().maxRSS };
console.log(JSON.stringify({ workload: "wasm", variant, peer: "wasm", metric: "time", unit: "ms", median: median(walls), min: Math.min(...walls), runs: walls.length, params }));
