// Builds the package into dist: the engine's wasm in parts and its bindings. `shell.mjs` builds the rest. With
// HYPERSLAB_SIMD_ONLY=1, only browsers with SIMD can use it, and the build takes two thirds of the time.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const dist = join(here, "dist");
const linked = (profile) => join(target, "wasm32-unknown-unknown", profile, "hyperslab_wasm.wasm");

/** Builds the engine. */
async function build(profile, env = {}) {
  // The bindings tool reads the linker's relocations.
  const args = ["rustc", "--package", "hyperslab-wasm", "--crate-type", "cdylib", "--target", "wasm32-unknown-unknown", "--profile", profile, "--", "-C", "link-arg=--emit-relocs"];
  const cargo = spawn("cargo", args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
  const code = await new Promise((done, fail) => cargo.on("exit", done).on("error", fail));
  if (code !== 0) throw new Error(`cargo ${args.join(" ")}: exit code ${code}`);
}

// For browsers without SIMD. These replace the flags in `.cargo/config.toml`.
const withoutSimd = { RUSTFLAGS: "-C target-feature=-simd128", CFLAGS_wasm32_unknown_unknown: "-mbulk-memory -include wide_words.h" };
const profiles = { wasm: {}, ...(process.env.HYPERSLAB_SIMD_ONLY ? {} : { "wasm-baseline": withoutSimd }) };
// Together, because each links in one thread.
await Promise.all(Object.entries(profiles).map(([profile, env]) => build(profile, env)));
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
execFileSync("cargo", ["run", "--package", "hyperslab-bindgen", "--", dist, join(target, "npm-weights.csv"), ...Object.keys(profiles).map(linked)], { cwd: root, stdio: "inherit" });
// npm leaves links out of packages.
for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) cpSync(join(root, licence), join(here, licence));
// TypeScript resolves ./core.js to declarations in the source folder.
renameSync(join(dist, "core.d.ts"), join(here, "src/core.d.ts"));
await import("./shell.mjs");
