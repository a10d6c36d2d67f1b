// The files of the engine for browsers without WebAssembly SIMD. `npm run test:baseline` runs this and other tests
// without SIMD.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fileOf } from "../dist/compile.js";
import { simd } from "./browser.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
const dist = new URL("../dist/", import.meta.url);

test("the engine has the files of this process", () => {
  assert.equal(fileOf("core"), simd ? "core" : "core-baseline");
});

test("both sets of files have the same interface, and only one uses SIMD", async () => {
  const own = ({ name }) => !name.startsWith("memory-");
  const names = (list) => list.filter(own).map(({ module, name, kind }) => `${module ?? ""} ${name} ${kind}`).sort();
  const load = async (file) => readFile(new URL(`${file}.wasm`, dist));
  const baseline = await WebAssembly.compile(await load("core-baseline"));
  const run = (file) => execFileSync(process.execPath, ["--no-enable-sse4-1", "-e", `console.log(WebAssembly.validate(require("fs").readFileSync("dist/${file}.wasm")))`], { cwd: here, encoding: "utf8" }).trim();
  assert.deepEqual([run("core"), run("core-baseline")], ["false", "true"]);
  if (!simd) return;
  const core = await WebAssembly.compile(await load("core"));
  const bindings = (list) => names(list).filter((name) => !/^ [fgt]\d* /.test(name));
  assert.deepEqual(bindings(WebAssembly.Module.imports(baseline)), bindings(WebAssembly.Module.imports(core)));
});

test("`init` gives the files that this process can run, by their names", async () => {
  const script = `
    import { readFileSync } from "node:fs";
    import { create, init, MemoryStore } from "hyperslab";
    await init({ core: new Uint8Array(9), "core-baseline": readFileSync("dist/core-baseline.wasm") });
    const array = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9] }], attrs: [{ name: "a", type: "int32" }] });
    console.log(array.kind);`;
  const run = (flags) => execFileSync(process.execPath, [...flags, "--input-type=module", "-e", script], { cwd: here, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  assert.equal(run(["--no-enable-sse4-1"]), "dense\n");
  if (simd) assert.throws(() => run([]), /the source given to init: expected WebAssembly/);
});
