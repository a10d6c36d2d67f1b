// Builds the package into dist: the wasm of the engine, its bindings, and the TypeScript.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const dist = join(here, "dist");
const wasm = join(target, "wasm32-unknown-unknown/wasm/hyperslab_wasm.wasm");
const run = (program, args) => execFileSync(program, args, { cwd: root, stdio: "inherit" });

run("cargo", ["build", "--package", "hyperslab-wasm", "--target", "wasm32-unknown-unknown", "--profile", "wasm"]);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
run("cargo", ["run", "--package", "hyperslab-bindgen", "--", wasm, dist]);
// npm leaves links out of packages.
for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) cpSync(join(root, licence), join(here, licence));
// TypeScript resolves ./core.js to declarations in the source folder.
cpSync(join(dist, "core.d.ts"), join(here, "src/core.d.ts"));
run(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", here]);
for (const internal of ["core.d.ts", "core_bg.wasm.d.ts"]) rmSync(join(dist, internal));

// Minifies, because pages load these files, mostly without a bundler. Users see the names of classes.
for (const name of readdirSync(dist).filter((name) => name.endsWith(".js"))) {
  const file = join(dist, name);
  const { code } = await minify(readFileSync(file, "utf8"), { module: true, ecma: 2022, keep_classnames: true });
  writeFileSync(file, code);
}
