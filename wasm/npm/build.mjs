// Builds the package into dist: the engine's wasm in parts and its bindings. `shell.mjs` builds the rest.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const dist = join(here, "dist");
const wasm = join(target, "wasm32-unknown-unknown/wasm/hyperslab_wasm.wasm");
const run = (program, args) => execFileSync(program, args, { cwd: root, stdio: "inherit" });

// The bindings tool reads the linker's relocations.
run("cargo", ["rustc", "--package", "hyperslab-wasm", "--crate-type", "cdylib", "--target", "wasm32-unknown-unknown", "--profile", "wasm", "--", "-C", "link-arg=--emit-relocs"]);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
run("cargo", ["run", "--package", "hyperslab-bindgen", "--", wasm, dist, join(target, "npm-weights.csv")]);
// npm leaves links out of packages.
for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) cpSync(join(root, licence), join(here, licence));
// TypeScript resolves ./core.js to declarations in the source folder.
renameSync(join(dist, "core.d.ts"), join(here, "src/core.d.ts"));
await import("./shell.mjs");
