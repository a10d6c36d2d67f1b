// Reads the same cells with every contender, in a browser over a slow network: `node run.mjs DATA RESULTS.csv [OPTION…]`.
//   --networks h1/40/100,h2/40/100   protocol, round trip in ms, Mbit/s
//   --only TEXT                      contenders whose name contains it; keeps the rows of the others
//   --runs 2                         fresh pages for each number, of which the fastest counts
import { build } from "esbuild";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { browser, launch } from "../../wasm/npm/test/browser.mjs";
import { DENSE, SESSIONS, SPARSE } from "./contenders.mjs";
import { serve } from "./server.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const { positionals: [data, results], values } = parseArgs({
  allowPositionals: true,
  options: { networks: { type: "string", default: "h1/40/100,h2/40/100" }, only: { type: "string", default: "" }, runs: { type: "string", default: "2" } },
});
const HEADER = "browser,version,protocol,rtt_ms,mbit,contender,phase,ms,requests,bytes,longest_task_ms,peak_mb,package_bytes,correct,date";

/** Bundles the page and the readers, with the files that they load. */
async function bundled() {
  const folder = mkdtempSync(join(tmpdir(), "hyperslab-bench-"));
  const npm = join(here, "../../wasm/npm");
  const readers = readdirSync(join(here, "readers")).map((name) => `readers/${name}`);
  const common = { absWorkingDir: here, outdir: folder, bundle: true, format: "esm", minify: true, target: "es2022", alias: { hyperslab: join(npm, "dist/index.js"), "hyperslab/pool": join(npm, "dist/pool.js") }, logLevel: "error" };
  await build({ ...common, entryPoints: ["page.mjs"] });
  // Each on its own, so that no library pays for another's chunks.
  for (const reader of readers) await build({ ...common, entryPoints: [reader], outdir: join(folder, "readers"), splitting: true, external: ["node:*", "fs", "path", "crypto", "module", "worker_threads"] });
  await build({ ...common, entryPoints: { worker: join(npm, "dist/worker.js") }, outdir: join(folder, "readers") });
  for (const name of readdirSync(join(npm, "dist")).filter((name) => name.endsWith(".wasm"))) cpSync(join(npm, "dist", name), join(folder, "readers", name));
  cpSync(join(here, "node_modules/parquet-wasm/esm/parquet_wasm_bg.wasm"), join(folder, "readers/parquet_wasm_bg.wasm"));
  writeFileSync(join(folder, "index.html"), `<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>`);
  return folder;
}

/** The most memory that a page's process had, in MB, of the processes that this one started. */
function peak() {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const [status, command] = ["status", "cmdline"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"));
      return [{ pid, parent: /PPid:\s+(\d+)/.exec(status)[1], peak: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1e3, isPage: /--type=renderer|contentproc/.test(command) }];
    } catch {
      return [];
    }
  });
  const byPid = new Map(processes.map((p) => [p.pid, p]));
  const isOurs = (p) => p !== undefined && (p.parent === String(process.pid) || isOurs(byPid.get(p.parent)));
  return Math.max(0, ...processes.filter((p) => p.isPage && isOurs(p)).map((p) => p.peak));
}

/** Copies arrays to where their copies have manifests. */
async function indexed() {
  const { open, writeManifest } = await import("../../wasm/npm/dist/node.js");
  for (const name of readdirSync(data).filter((name) => /^tiledb-\w+$/.test(name))) {
    const copy = join(data, `${name}-indexed`);
    if (existsSync(join(copy, "__manifest.json"))) continue;
    cpSync(join(data, name), copy, { recursive: true });
    await writeManifest(await open(copy));
  }
}

let session = 0;

/** Runs the phases in a fresh page of a fresh browser. */
async function perform(server, contender, cells, phases) {
  const page = await launch({ acceptInsecureCerts: true }, { answerSeconds: 290 });
  try {
    await page.ask("POST", "/timeouts", { script: 300_000, pageLoad: 300_000 });
    session += 1;
    const before = server.counts();
    const facts = { ...contender, url: `${server.url}/data/${session}/${contender.data}`, cells };
    await page.visit(`${server.url}/app/${session}/index.html#${encodeURIComponent(JSON.stringify(facts))}`);
    const ready = await page.wait("return globalThis.ready");
    const after = server.counts();
    const rows = [{ phase: "ready", ms: ready, ...difference(before, after), longest: 0, correct: true }];
    for (const phase of phases) {
      const before = server.counts();
      const found = await page.runAsync(`phase(${JSON.stringify(phase)}).then(done, (error) => done({ error: String(error.stack ?? error) }))`);
      if (found.error) throw new Error(`${contender.shown}, ${phase}: ${found.error}`);
      const expected = cells.answers[phase === "revisit" ? "window" : phase];
      rows.push({ phase, ...found, ...difference(before, server.counts()), correct: expected === undefined || expected === found.answer });
    }
    const [total, memory] = [server.counts().app - before.app, peak()];
    return { version: page.version, rows: rows.map((row) => ({ ...row, memory, app: total })) };
  } finally {
    await page.close();
  }
}

const difference = (before, after) => ({ requests: after.requests - before.requests, bytes: after.bytes - before.bytes });

const all = JSON.parse(readFileSync(join(data, "cells.json"), "utf8"));
const { found, box, ...dense } = all;
await indexed();
const app = await bundled();
const old = existsSync(results) ? readFileSync(results, "utf8").trim().split("\n").slice(1) : [];
const fresh = [];
const key = (row) => /^([^,]*),[^,]*,([^,]*,[^,]*,[^,]*,"[^"]*",[^,]*)/.exec(row).slice(1).join();

/** Writes the results so far, in place of older ones of the same measurements. */
function save() {
  const replaced = new Set(fresh.map(key));
  writeFileSync(results, `${[HEADER, ...old.filter((row) => !replaced.has(key(row))), ...fresh].join("\n")}\n`);
}

const date = new Date().toISOString().slice(0, 10);
for (const network of values.networks.split(",")) {
  const [protocol, rtt, mbit] = network.split("/");
  for (const [contenders, cells, sessions] of [[DENSE, dense, SESSIONS.dense], [SPARSE, all, SESSIONS.sparse]]) {
    for (const contender of contenders.filter(({ shown }) => shown.includes(values.only))) {
      const server = await serve({ app, data }, { protocol, rtt: Number(rtt), mbit: Number(mbit) });
      try {
        for (const [i, phases] of sessions.entries()) {
          const runs = [];
          for (let run = 0; run < Number(values.runs); run += 1) runs.push(await perform(server, contender, cells, phases));
          for (const [k, { phase }] of runs[0].rows.entries()) {
            // Every page gets ready and opens; the first session's numbers are enough.
            if (i > 0 && (phase === "ready" || phase === "open")) continue;
            // The fastest run, because other programs of the machine only add time.
            const best = runs.map(({ rows }) => rows[k]).reduce((least, row) => (row.ms < least.ms ? row : least));
            const correct = runs.every(({ rows }) => rows[k].correct);
            fresh.push([browser, runs[0].version, protocol, rtt, mbit, JSON.stringify(contender.shown), phase, best.ms.toFixed(1), best.requests, best.bytes, best.longest.toFixed(1), best.memory.toFixed(0), best.app, correct, date].join(","));
            console.log(fresh.at(-1));
          }
        }
      } catch (error) {
        console.error(`${contender.shown}: ${error.message}`);
        process.exitCode = 1;
      } finally {
        server.close();
        save();
      }
    }
  }
}
rmSync(app, { recursive: true });
